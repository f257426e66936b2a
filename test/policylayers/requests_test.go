package policylayers

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/policy/policytest"
	"github.com/codeconnect/vmgroup-operator/test/harness/policydice"
)

// run evaluates one case with all layers.
func (t *trial) run(ctx context.Context) error {
	c := t.dice.Request(0)
	set, err := t.stored(ctx, c.Policies)
	if err != nil {
		return err
	}
	limits, err := t.told(ctx, set)
	if err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.Namespace, Labels: c.NamespaceLabels}}
	var old *unstructured.Unstructured
	status := v1alpha1.VmGroupStatus{}
	if c.Old != nil {
		status = t.status(c)
		if old, err = groupOf(c, c.Old, status); err != nil {
			return err
		}
		t.server.Groups.Decode(old.Object)
	}
	t.about = append(t.about, c.Old, c.Spec, c.Scale, status)
	if c.Scale != nil {
		return t.scales(ctx, c, set, limits, old, namespace, status)
	}
	return t.writes(ctx, c, set, limits, old, namespace, status)
}

// groupOf is the group of a case with a spec.
func groupOf(c policytest.Case, spec map[string]any, status v1alpha1.VmGroupStatus) (*unstructured.Unstructured, error) {
	object, err := plain(map[string]any{"spec": spec, "status": status})
	if err != nil {
		return nil, err
	}
	group := &unstructured.Unstructured{Object: object}
	group.SetGroupVersionKind(groupKind)
	group.SetNamespace(c.Namespace)
	group.SetName(c.Group)
	if c.Old == nil {
		delete(object, "status")
	}
	return group, nil
}

// status draws the VMs of the group. The shapes of all of them are on record, as far as there is room.
func (t *trial) status(c policytest.Case) (status v1alpha1.VmGroupStatus) {
	was := plan.ShapeOf(*c.OldSpec())
	shapes := []v1alpha1.Revision{was}
	if c.Spec != nil {
		shapes = append(shapes, plan.ShapeOf(*c.NewSpec()))
	}
	for range t.dice.IntN(8) {
		other := policytest.Case{Spec: t.dice.Spec(true)}
		shapes = append(shapes, plan.ShapeOf(*other.NewSpec()))
	}
	record := func(shape v1alpha1.Revision) {
		known := slices.ContainsFunc(status.Revisions, func(r v1alpha1.Revision) bool { return r.Revision == shape.Revision })
		if !known && len(status.Revisions) < v1alpha1.MaxRevisions {
			status.Revisions = append(status.Revisions, shape)
		}
	}
	if t.dice.OneIn(3) { // more of them than the VMs below have
		t.dice.Shuffle(len(shapes), func(i, j int) { shapes[i], shapes[j] = shapes[j], shapes[i] })
		for _, shape := range shapes[1:] {
			record(shape)
		}
	}
	for ordinal := range int32(t.dice.IntN(4)) {
		shape := shapes[t.dice.IntN(min(len(shapes), 3))]
		vm := v1alpha1.VMStatus{
			Name: plan.VMName("web", ordinal), Ordinal: ordinal, UUID: plan.InstanceUUID("u", ordinal, 0), MoRef: fmt.Sprint("vm-", ordinal),
			Revision: shape.Revision, Phase: policydice.One(t.dice, v1alpha1.VMReady, v1alpha1.VMReady, v1alpha1.VMReady, v1alpha1.VMDeleting, v1alpha1.VMLost),
		}
		if t.dice.OneIn(8) {
			vm.MoRef = ""
		}
		status.VMs = append(status.VMs, vm)
		record(shape)
	}
	return status
}

// standing are the VMs that have a revision, as the hub counts them.
func standing(status v1alpha1.VmGroupStatus, revision string) (n int32) {
	for i := range status.VMs {
		if there(&status.VMs[i]) && status.VMs[i].Revision == revision {
			n++
		}
	}
	return n
}

func there(vm *v1alpha1.VMStatus) bool {
	return vm.MoRef != "" && vm.Phase != v1alpha1.VMDeleting && vm.Phase != v1alpha1.VMLost
}

// overflows reports whether a VM has a shape for which status has no room.
func overflows(status v1alpha1.VmGroupStatus) bool {
	return len(status.Revisions) >= v1alpha1.MaxRevisions && slices.ContainsFunc(status.VMs, func(vm v1alpha1.VMStatus) bool {
		return there(&vm) && !slices.ContainsFunc(status.Revisions, func(r v1alpha1.Revision) bool { return r.Revision == vm.Revision })
	})
}

// scales compares the layers' results for kubectl scale, which contains only replicas.
func (t *trial) scales(ctx context.Context, c policytest.Case, set *policy.Set, limits, old *unstructured.Unstructured, namespace *corev1.Namespace, status v1alpha1.VmGroupStatus) error {
	answer, err := t.server.Scale(ctx, limits, old, *c.Scale, namespace)
	if err != nil {
		return err
	}
	refused, _ := set.EvaluateUpdate(c.Requester(), *c.OldSpec(), *c.NewSpec(), "")
	seen := slices.DeleteFunc(slices.Clone(refused), func(v policy.Violation) bool {
		return v.Rule != policy.RuleUnusable && v.Rule != policy.RuleReplicasMaximum
	})
	t.compare(answer.Refusal, seen)
	if answer.Refusal == "" && len(refused) == 0 {
		t.reconciled(c, set, *c.NewSpec(), status, false)
	}
	return nil
}

func (t *trial) compare(refusal string, refused []policy.Violation) {
	want := ""
	if len(refused) > 0 {
		want = refused[0].Error()
		t.tally[string(refused[0].Rule)]++
	}
	if refusal != want {
		t.fail("the member says\n%q, and the hub\n%q", refusal, want)
	}
}

// writes compares the layers' results for a new group or for an edit.
func (t *trial) writes(ctx context.Context, c policytest.Case, set *policy.Set, limits, old *unstructured.Unstructured, namespace *corev1.Namespace, status v1alpha1.VmGroupStatus) error {
	group, err := groupOf(c, c.Spec, status)
	if err != nil {
		return err
	}
	answer, err := t.server.Write(ctx, limits, group, old, namespace)
	if err != nil {
		return err
	}
	spec := *c.NewSpec()
	var filled []string
	if c.Old == nil {
		filled = set.Default(c.Requester(), &spec)
	} else {
		filled = set.DefaultUpdate(c.Requester(), *c.OldSpec(), &spec)
	}
	asked, err := fill(group, spec, filled)
	if err != nil {
		return err
	}
	t.server.Groups.Decode(asked.Object)
	refusedByHub := answer.Schema
	if !reflect.DeepEqual(asked.Object, answer.Object.Object) { // the schema's result is the same for equal objects
		refusedByHub = t.server.Check(ctx, asked, old)
	}
	if (answer.Schema != nil) != (refusedByHub != nil) {
		t.fail("with the defaults of the member the schema says %v, and with those of the hub %v", answer.Schema, refusedByHub)
	}
	if wants := invalid(spec, c.OldSpec()); wants != (refusedByHub != nil) {
		t.fail("the schema says %v of a group that is invalid: %t", refusedByHub, wants)
	}
	if answer.Schema != nil || refusedByHub != nil {
		t.tally[schemaRefuses]++
		return nil
	}
	if member, hub := answer.Object.Object["spec"], asked.Object["spec"]; !reflect.DeepEqual(member, hub) {
		t.fail("the member fills in %v, and the hub %v", member, hub)
		return nil
	}
	text, err := json.Marshal(asked.Object["spec"])
	if err != nil {
		return fmt.Errorf("encode a spec: %w", err)
	}
	stored := v1alpha1.VmGroupSpec{}
	if err := json.Unmarshal(text, &stored); err != nil {
		return fmt.Errorf("decode a spec: %w", err)
	}
	if t.judged(c, set, stored, answer.Refusal, status) {
		t.reconciled(c, set, stored, status, answer.Refusal == "" && t.undoes(c, stored, status))
	}
	return nil
}

// invalid reports whether the schema must reject a group: a required value is missing, or its VMs would have to move to
// another vCenter, or a disk cannot have its size. An empty vCenter name counts as none.
func invalid(spec v1alpha1.VmGroupSpec, old *v1alpha1.VmGroupSpec) bool {
	if spec.CloneMode == v1alpha1.CloneLinked && spec.Shape().RootDiskGiB() > 0 || old != nil && policytest.Shrinks(*old, spec) {
		return true
	}
	return spec.CPU == 0 || spec.Memory == 0 || spec.Template == "" || old != nil && old.VCenter != "" && old.VCenter != spec.VCenter
}

// fill writes the values that the hub's webhook fills in.
func fill(group *unstructured.Unstructured, spec v1alpha1.VmGroupSpec, filled []string) (*unstructured.Unstructured, error) {
	asked := group.DeepCopy()
	values := map[string]any{"spec.cpu": int64(spec.CPU), "spec.memory": int64(spec.Memory), "spec.template": spec.Template, "spec.vcenter": spec.VCenter, "spec.disks.root.sizeGiB": int64(spec.Shape().RootDiskGiB())}
	for _, field := range filled {
		if err := unstructured.SetNestedField(asked.Object, values[field], strings.Split(field, ".")...); err != nil {
			return nil, fmt.Errorf("fill in %s: %w", field, err)
		}
	}
	return asked, nil
}

// judged compares rejections, and reports whether the edit is accepted.
func (t *trial) judged(c policytest.Case, set *policy.Set, spec v1alpha1.VmGroupSpec, refusal string, status v1alpha1.VmGroupStatus) (accepted bool) {
	if c.Old == nil {
		refused, _ := policy.Split(set.Evaluate(c.Requester(), spec, ""))
		t.compare(refusal, refused)
		return len(refused) == 0
	}
	refused, _ := set.EvaluateUpdate(c.Requester(), *c.OldSpec(), spec, "")
	grows := policy.UsageOf(spec).VMs > policy.UsageOf(*c.OldSpec()).VMs
	switch {
	case len(refused) > 0 && t.undoes(c, spec, status):
		t.tally[undone]++
		if refusal != "" {
			t.fail("an edit is taken back while %d VMs still have its shape: the hub accepts it, and the member says %q", standing(status, plan.Revision(spec)), refusal)
		}
		return true
	case len(refused) > 0 && refusal == "" && !grows && overflows(status):
		t.tally[leftToTheHub]++
		return false
	}
	t.compare(refusal, refused)
	return len(refused) == 0
}

// undoes reports whether the hub treats an edit as a revert; see package webhook.
func (t *trial) undoes(c policytest.Case, spec v1alpha1.VmGroupSpec, status v1alpha1.VmGroupStatus) bool {
	return c.Old != nil && standing(status, plan.Revision(spec)) > 0 && policy.UsageOf(spec).VMs <= policy.UsageOf(*c.OldSpec()).VMs &&
		plan.Revision(*c.OldSpec()) != plan.Revision(spec)
}
