// Package describe explains the state of one VmGroup: what it is, why it waits, and what happened to it.
package describe

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/conditions"
	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Section is a titled part of a description.
type Section struct {
	Title string
	Lines []string
}

// Of describes a VmGroup. state is the first line of its state.
func Of(g *v1alpha1.VmGroup, state string, times term.Times) []Section {
	d := describer{group: g, times: times}
	d.state(state)
	d.vms()
	d.update()
	d.policy()
	d.troubles()
	return d.sections
}

type describer struct {
	group    *v1alpha1.VmGroup
	times    term.Times
	sections []Section
}

func (d *describer) add(title string, lines ...string) {
	d.sections = append(d.sections, Section{Title: title, Lines: lines})
}

func (d *describer) find(condition string) *metav1.Condition {
	return meta.FindStatusCondition(d.group.Status.Conditions, condition)
}

func (d *describer) state(line string) {
	lines := []string{line}
	ready, stalled := d.find(v1alpha1.ConditionReady), d.find(v1alpha1.ConditionStalled)
	if ready != nil {
		lines = append(lines, conditions.Message(ready))
	}
	if now, seen := d.group.Generation, d.group.Status.ObservedGeneration; seen < now && seen > 0 {
		lines = append(lines, fmt.Sprintf("This is the state of generation %d. The operator has not reported on generation %d yet.", seen, now))
	}
	d.add("State", lines...)
	if stalled != nil && stalled.Status == metav1.ConditionTrue && (ready == nil || stalled.Message != ready.Message) {
		d.add("To do", conditions.Message(stalled))
	}
}

func (d *describer) update() {
	switch c := d.find(v1alpha1.ConditionUpToDate); {
	case c == nil:
	case c.Status == metav1.ConditionTrue:
		d.add("Update", "complete: all VMs have revision "+untrusted.Text(d.group.Status.UpdateRevision, 64))
	default:
		d.add("Update", d.because(c))
	}
}

func (d *describer) policy() {
	switch c := d.find(v1alpha1.ConditionPolicyCompliant); {
	case c == nil:
	case c.Status == metav1.ConditionTrue:
		d.add("Policy", "allowed")
	default:
		d.add("Policy", d.because(c))
	}
}

// described are the conditions that have sections of their own.
var described = []string{v1alpha1.ConditionReady, v1alpha1.ConditionUpToDate, v1alpha1.ConditionPolicyCompliant}

func (d *describer) troubles() {
	for _, c := range conditions.Troubles(d.group.Status.Conditions, conditions.OfGroup) {
		if !slices.Contains(described, c.Type) {
			d.add("Check", untrusted.Text(c.Type, 60)+": "+d.because(&c))
		}
	}
}

// because returns the reason, the age and the message of a condition.
func (d *describer) because(c *metav1.Condition) string {
	return conditions.Since(c, d.times) + ": " + conditions.Message(c)
}

// rows is the number of VMs that a description lists.
const rows = 20

func (d *describer) vms() {
	s := &d.group.Status
	place := ""
	if s.VCenter != "" {
		place = ", in VCenter " + untrusted.Text(s.VCenter, 253)
	}
	if s.Folder != nil && s.Folder.Path != "" {
		place += ", folder " + untrusted.Text(s.Folder.Path, 1024)
	}
	d.add("VMs", fmt.Sprintf("%d ready of %d wanted%s", s.ReadyReplicas, s.DesiredReplicas, place))
}

// VM is a row of the table of VMs.
type VM struct {
	Ordinal, Name, Phase, IP, Revision, Age, Message string
	// Well is true if the VM is as spec wants it.
	Well bool
}

// VMs returns rows for the VMs of a group. Of a large group, it returns those that are not as spec wants them, up to a limit, and the number of VMs that have
// no row.
func VMs(g *v1alpha1.VmGroup, times term.Times) (table []VM, rest int) {
	for _, vm := range g.Status.VMs {
		row := VM{
			Ordinal: fmt.Sprint(vm.Ordinal), Name: untrusted.Text(vm.Name, 80), Phase: untrusted.Text(cmp.Or(string(vm.Phase), "Unknown"), 32), IP: untrusted.Text(vm.IPAddress, 64),
			Revision: untrusted.Text(vm.Revision, 12), Message: untrusted.Text(vm.Message, 512),
			Well: vm.Phase == v1alpha1.VMReady || vm.Phase == v1alpha1.VMStopped && g.Spec.PowerState == v1alpha1.PoweredOff,
		}
		if vm.Revision != "" && g.Status.UpdateRevision != "" && vm.Revision != g.Status.UpdateRevision {
			row.Revision += " (old)"
		}
		if vm.ReadySince != nil {
			row.Age = times.Age(vm.ReadySince.Time)
		}
		table = append(table, row)
	}
	if len(table) <= rows {
		return table, 0
	}
	all := len(table)
	table = slices.DeleteFunc(table, func(vm VM) bool { return vm.Well })
	table = table[:min(rows, len(table))]
	return table, all - len(table)
}
