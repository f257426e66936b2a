package policy

import (
	"fmt"
	"reflect"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// shape has the fields that rules check.
type shape struct {
	cpu, memory, disk, replicas int32
	// dataDisk is the largest data disk in GiB, dataDisks the sum of all.
	dataDisk  int32
	dataDisks int64
	template  string
	names     templateNames
}

func shapeOf(spec *v1alpha1.VmGroupSpec, templatePath string) shape {
	s := shape{
		cpu: spec.CPU, memory: spec.Memory, disk: spec.Shape().RootDiskGiB(), replicas: replicasOf(spec),
		template: spec.Template, names: namesOf(spec.Template, templatePath),
	}
	for _, d := range spec.Shape().DataDisks() {
		s.dataDisk, s.dataDisks = max(s.dataDisk, d.SizeGiB), s.dataDisks+int64(d.SizeGiB)
	}
	return s
}

// absent reports whether an object has no spec at all. The original operator accepted such objects. The operator creates nothing for them, so there
// is nothing to fill in or to refuse.
func absent(spec *v1alpha1.VmGroupSpec) bool { return reflect.ValueOf(spec).Elem().IsZero() }

// replicasOf returns the number of VMs that spec asks for. The API server's default is 1 if there is a spec.
func replicasOf(spec *v1alpha1.VmGroupSpec) int32 {
	switch {
	case spec.Replicas != nil:
		return *spec.Replicas
	case absent(spec):
		return 0
	}
	return 1
}

// rule is one condition of a policy on one field.
type rule struct {
	id    Rule
	field string
	value func(shape) any
	// broken returns the error, or "".
	broken func(*Policy, shape) string
	// worse reports, for a shape that breaks the rule, whether the previous shape was better.
	worse func(was, now shape) bool
	// newOnly is true for a rule that applies to new groups only.
	newOnly bool
}

// Fields of disks in violations.
const (
	rootDiskField  = "spec.disks.root.sizeGiB"
	dataDisksField = "spec.disks.data"
)

// disksField returns the field of a spec that decides how much storage it needs.
func disksField(spec *v1alpha1.VmGroupSpec) string {
	if spec.Disks != nil && len(spec.Disks.Data) > 0 {
		return "spec.disks"
	}
	return rootDiskField
}

// rules in the order in which violations of one policy are reported.
var rules = []rule{
	{
		id: RuleUnusable, field: "spec", value: func(shape) any { return nil },
		broken: func(p *Policy, _ shape) string { return p.unusable() },
		worse: func(was, now shape) bool {
			return now.cpu > was.cpu || now.memory > was.memory || now.disk > was.disk || moreData(was, now) || differs(was, now)
		},
	},
	{
		id: RuleCPUMaximum, field: "spec.cpu", value: cpu,
		broken: func(p *Policy, s shape) string { return tooMuch(p, p.bounds.CPU, s.cpu, "") },
		worse:  func(was, now shape) bool { return now.cpu > was.cpu || grows(was, now) },
	},
	{
		id: RuleCPUMinimum, field: "spec.cpu", value: cpu,
		broken: func(p *Policy, s shape) string { return tooLittle(p, p.bounds.CPU, s.cpu, "") },
		worse:  func(was, now shape) bool { return now.cpu < was.cpu || grows(was, now) },
	},
	{
		id: RuleMemoryMaximum, field: "spec.memory", value: memory,
		broken: func(p *Policy, s shape) string { return tooMuch(p, p.bounds.Memory, s.memory, " GiB") },
		worse:  func(was, now shape) bool { return now.memory > was.memory || grows(was, now) },
	},
	{
		id: RuleMemoryMinimum, field: "spec.memory", value: memory,
		broken: func(p *Policy, s shape) string { return tooLittle(p, p.bounds.Memory, s.memory, " GiB") },
		worse:  func(was, now shape) bool { return now.memory < was.memory || grows(was, now) },
	},
	{
		id: RuleDiskMaximum, field: rootDiskField, value: disk,
		broken: func(p *Policy, s shape) string { return tooMuch(p, p.bounds.Disk, s.disk, " GiB") },
		worse:  func(was, now shape) bool { return now.disk > was.disk || grows(was, now) },
	},
	{
		id: RuleDiskMinimum, field: rootDiskField, value: disk,
		broken: func(p *Policy, s shape) string {
			if s.disk == 0 {
				return "" // as large as in the template
			}
			return tooLittle(p, p.bounds.Disk, s.disk, " GiB")
		},
		worse: func(was, now shape) bool { return was.disk == 0 || now.disk < was.disk || grows(was, now) },
	},
	{
		id: RuleDataDiskMaximum, field: dataDisksField, value: func(s shape) any { return s.dataDisk },
		broken: func(p *Policy, s shape) string { return tooMuch(p, p.bounds.Disk, s.dataDisk, " GiB") },
		worse:  func(was, now shape) bool { return moreData(was, now) || grows(was, now) },
	},
	{
		id: RuleDiskRequired, field: rootDiskField, value: disk,
		broken: func(p *Policy, s shape) string {
			if !p.RequiresDisk() || s.disk > 0 || s.replicas == 0 {
				return ""
			}
			return fmt.Sprintf("must be set, because the quota of VmGroupPolicy %q limits storage", p.name)
		},
		worse: differs, // the removal of the size is the first of the two edits that lower it, and the operator holds the group meanwhile
	},
	{
		id: RuleReplicasMaximum, field: "spec.replicas", value: replicas,
		broken: func(p *Policy, s shape) string { return tooMuch(p, p.bounds.Replicas, s.replicas, "") },
		worse:  grows,
	},
	{
		id: RuleReplicasMinimum, field: "spec.replicas", value: replicas,
		broken: func(p *Policy, s shape) string { return tooLittle(p, p.bounds.Replicas, s.replicas, "") },
		// An update can always shrink a group, also to below a minimum.
		worse: func(_, _ shape) bool { return false }, newOnly: true,
	},
	{
		id: RuleTemplateDenied, field: "spec.template", value: template,
		broken: denied, worse: differs,
	},
	{
		id: RuleTemplateAllowed, field: "spec.template", value: template,
		broken: notAllowed, worse: differs,
	},
}

func cpu(s shape) any      { return s.cpu }
func memory(s shape) any   { return s.memory }
func disk(s shape) any     { return s.disk }
func replicas(s shape) any { return s.replicas }
func template(s shape) any { return s.template }

// moreData reports whether data disks are larger, or more of their space is wanted.
func moreData(was, now shape) bool {
	return now.dataDisk > was.dataDisk || now.dataDisks > was.dataDisks
}

// grows reports whether there are more VMs: one more VM of a forbidden kind also makes the group worse.
func grows(was, now shape) bool { return now.replicas > was.replicas }

// differs reports whether there are more VMs or another template.
func differs(was, now shape) bool { return now.template != was.template || grows(was, now) }

func tooMuch(p *Policy, r Range, n int32, unit string) string {
	if !r.exceeded(int64(n)) {
		return ""
	}
	return fmt.Sprintf("exceeds the maximum %d%s%s", *r.Max, unit, p.origin)
}

func tooLittle(p *Policy, r Range, n int32, unit string) string {
	if !r.missed(int64(n)) {
		return ""
	}
	return fmt.Sprintf("is below the minimum %d%s%s", *r.Min, unit, p.origin)
}

func denied(p *Policy, s shape) string {
	if s.template == "" {
		return "" // the schema refuses it
	}
	text, yes := s.names.denies(p.deny)
	if !yes {
		return ""
	}
	return fmt.Sprintf("is denied by VmGroupPolicy %q: %s", p.name, text)
}

// notAllowed reports nothing if a pattern denies the template: one message per field and policy is enough.
func notAllowed(p *Policy, s shape) string {
	if s.template == "" || s.names.allows(p.allow) || denied(p, s) != "" {
		return ""
	}
	return fmt.Sprintf("matches none of the templates that VmGroupPolicy %q allows: %s", p.name, p.allowList)
}

func (p *Policy) unusable() string {
	if p.problem == "" {
		return ""
	}
	return fmt.Sprintf("VmGroupPolicy %q cannot be applied, and nothing grows until a hub administrator corrects it on the hub: %s",
		p.name, p.problem)
}

func (r rule) violation(p *Policy, s shape, detail string) Violation {
	return Violation{
		Field: r.field, Value: r.value(s), Detail: detail, Policy: p.name, Rule: r.id, Enforced: p.Enforced(),
	}
}
