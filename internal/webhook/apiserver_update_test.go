//go:build unix && !fast

package webhook

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// foretold edits a group whose VMs run. An API server raises the generation before it calls the webhook: the object looks as if the update
// had begun.
func (c *cluster) foretold(w *changingKnowledge) {
	g := made("running", nil)
	c.create(g)
	s := running(g)
	if err := c.Status().Update(c.t.Context(), g); err != nil {
		c.t.Fatal(err)
	}
	w.put(g)
	w.foresee(func(asked *v1alpha1.VmGroup) (Preview, error) {
		if asked.Generation != g.Generation+1 {
			c.t.Errorf("generation %d is shown, and %d is stored", asked.Generation, g.Generation)
		}
		s := *s
		s.Group, s.Revision = asked.DeepCopy(), plan.Revision(asked.Spec)
		s.Group.Finalizers = []string{v1alpha1.VmGroupFinalizer}
		return s.Preview(), nil
	})
	defer w.foresee(nil)
	strategy := func(surge, unavailable int32) *v1alpha1.UpdateStrategy {
		return &v1alpha1.UpdateStrategy{MaxSurge: new(intstr.FromInt32(surge)), MaxUnavailable: new(intstr.FromInt32(unavailable))}
	}
	for _, edit := range []struct {
		story  string
		change func(*v1alpha1.VmGroupSpec)
		want   string
		answer inquiry.Plan
	}{
		{"one more first", func(*v1alpha1.VmGroupSpec) {}, "this change replaces 3 VMs one by one and needs quota for 1 more meanwhile",
			inquiry.Plan{Replaces: 3, OneByOne: true, Surge: 1}},
		{"one less first", func(s *v1alpha1.VmGroupSpec) { s.UpdateStrategy = strategy(0, 1) }, "this change replaces 3 VMs one by one", inquiry.Plan{Replaces: 3, OneByOne: true}},
		{"fewer", func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(int32(1)) },
			"this change removes 2 VMs: running-1, running-2, replaces 1 VM and needs quota for 1 more meanwhile",
			inquiry.Plan{Removes: 2, Removed: []string{"running-1", "running-2"}, Replaces: 1, OneByOne: true, Surge: 1}},
		{"more", func(s *v1alpha1.VmGroupSpec) { s.Replicas, s.UpdateStrategy = new(int32(4)), strategy(0, 1) }, "this change adds 1 VM and replaces 3 VMs one by one",
			inquiry.Plan{Adds: 1, Replaces: 3, OneByOne: true}},
	} {
		c.warned()
		after := g.DeepCopy()
		after.Spec.Template = "linux-13"
		edit.change(&after.Spec)
		if err := c.Update(c.t.Context(), after, client.DryRunAll); err != nil {
			c.t.Errorf("%s: %v", edit.story, err)
		}
		if got := c.warned(); !slices.Equal(got, []string{edit.want}) {
			c.t.Errorf("%s: warned %q, want %q", edit.story, got, edit.want)
		}
		if err := c.Update(c.t.Context(), after.DeepCopy(), client.DryRunAll, client.FieldOwner(inquiry.Manager)); err != nil {
			c.t.Errorf("%s: %v", edit.story, err)
		}
		if got, others, ok := inquiry.Parse[inquiry.Answer](c.warned()); !ok || len(others) > 0 || !reflect.DeepEqual(got.Plan, edit.answer) {
			c.t.Errorf("%s: the plugin gets %+v and %q", edit.story, got, others)
		}
	}
}

// inquiries sends edits as kubectl vmgroup plan does.
func (c *cluster) inquiries(w *changingKnowledge) {
	g := made("inquired", nil)
	c.create(g)
	w.put(g)
	w.foresee(func(*v1alpha1.VmGroup) (Preview, error) {
		p := Preview{VCenter: "default", Known: true, Plan: plan.Plan{Actions: []plan.Action{{Kind: plan.CreateVM, Ordinal: 3}}}}
		for i := range int32(500) {
			p.Plan.VMs, p.Plan.Doomed = append(p.Plan.VMs, plan.VMStatus{Name: fmt.Sprintf("a-name-that-is-as-long-as-names-of-groups-are-%d", i), Ordinal: i}), append(p.Plan.Doomed, i)
		}
		return p, nil
	})
	defer w.foresee(nil)
	asked := []client.UpdateOption{client.DryRunAll, client.FieldOwner(inquiry.Manager)}
	edit := func(change func(*v1alpha1.VmGroupSpec), options ...client.UpdateOption) error {
		c.warned()
		after := g.DeepCopy()
		change(&after.Spec)
		return c.Update(c.t.Context(), after, options...)
	}
	fewer := func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(int32(0)) }
	err := edit(fewer, asked...)
	if got, _, ok := inquiry.Parse[inquiry.Answer](c.warned()); err != nil || !ok || got.Plan.Removes != 500 || len(got.Plan.Removed) != 20 {
		c.t.Errorf("the API server shortens an answer: %+v, %v", got, err)
	}
	err = edit(func(s *v1alpha1.VmGroupSpec) { s.CPU = 16 }, asked...)
	if got := c.warned(); len(got) > 0 || !apierrors.IsInvalid(err) {
		c.t.Errorf("an edit that is refused is answered by %q, %v", got, err)
	}
	for _, other := range []struct {
		story   string
		options []client.UpdateOption
	}{{"another field manager", []client.UpdateOption{client.DryRunAll}}, {"no dry run", []client.UpdateOption{client.FieldOwner(inquiry.Manager)}}} {
		err = edit(fewer, other.options...) // the last one is stored: g is out of date then
		if got := c.warned(); err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "this change removes 500 VMs") {
			c.t.Errorf("%s: warned %q, %v", other.story, got, err)
		}
	}
}

// offers asks as kubectl vmgroup templates and quota do.
func (c *cluster) offers(*changingKnowledge) {
	empty := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Name: "inquired", Namespace: "default"}, Spec: v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, VCenter: "north", Template: "/DC0/vm/linux-12"}}
	c.warned()
	err := c.Create(c.t.Context(), empty.DeepCopy(), client.DryRunAll, client.FieldOwner(inquiry.NamespaceManager))
	got, _, ok := inquiry.Parse[inquiry.Namespace](c.warned())
	if !ok || got.VCenter != testMember+"/default" || !slices.Equal(got.VCenters, []string{"north", "/DC0/vm/linux-12"}) {
		c.t.Errorf("%+v, %v", got, err)
	}
	invalid := empty.DeepCopy()
	invalid.Spec.Template, invalid.Spec.CPU = "", 0
	err = c.Create(c.t.Context(), invalid, client.DryRunAll, client.FieldOwner(inquiry.NamespaceManager))
	if _, _, ok := inquiry.Parse[inquiry.Namespace](c.warned()); !ok || !apierrors.IsInvalid(err) {
		c.t.Errorf("a group that is not valid gets no answer: %v", err)
	}
	for story, options := range map[string][]client.CreateOption{"another field manager": {client.DryRunAll}, "no dry run": {client.FieldOwner(inquiry.NamespaceManager)}} {
		_ = c.Create(c.t.Context(), empty.DeepCopy(), options...)
		if _, _, ok := inquiry.Parse[inquiry.Namespace](c.warned()); ok {
			c.t.Errorf("%s: it is answered", story)
		}
	}
}

// running gives a group the status of one whose VMs run, and returns the operator's knowledge of it.
func running(g *v1alpha1.VmGroup) *group.Snapshot {
	was := plan.ShapeOf(g.Spec)
	s := &group.Snapshot{
		Now: someTime, Group: g, VCenter: "default", Member: testMember, ID: vsphere.GroupID{Group: string(g.UID)},
		Names: group.Names{Template: vsphere.Template{Name: "linux-13", Host: "host-1"}}, Folder: &v1alpha1.FolderStatus{Path: "/x", MoRef: "group-v1"},
		Old: []group.OldShape{{Recorded: was}},
	}
	g.Status = v1alpha1.VmGroupStatus{
		ObservedGeneration: g.Generation, Folder: s.Folder, DesiredReplicas: *g.Spec.Replicas, UpdateRevision: was.Revision,
		Rollout: &v1alpha1.Rollout{Revision: was.Revision}, Revisions: []v1alpha1.Revision{was},
	}
	o := vsphere.Observation{Complete: true, Folder: vsphere.Folder{Ref: s.FolderRef(), Name: group.FolderName(g.Name, g.UID)}}
	for ordinal := range *g.Spec.Replicas {
		vm := vsphere.VM{
			Ref: vsphere.VMRef(fmt.Sprint("vm-", ordinal)), Name: plan.VMName(g.Name, ordinal), InstanceUUID: plan.InstanceUUID(s.ID.Key(), ordinal, 0), Folder: o.Folder.Ref,
			Power: vsphere.PoweredOn, Connection: vsphere.Connected, CPU: g.Spec.CPU, MemoryMiB: int64(g.Spec.Memory) * 1024,
			Stamp: &vsphere.Stamp{GroupID: s.ID, Ordinal: ordinal, Revision: was.Revision},
		}
		o.VMs = append(o.VMs, vm)
		g.Status.VMs = append(g.Status.VMs, v1alpha1.VMStatus{
			Name: vm.Name, Ordinal: ordinal, UUID: vm.InstanceUUID, MoRef: vm.Ref.Value, Revision: was.Revision, Phase: v1alpha1.VMReady, ReadySince: new(metav1.NewTime(someTime)),
		})
	}
	s.See(o)
	return s
}
