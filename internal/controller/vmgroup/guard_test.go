package vmgroup

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// setPolicy creates or replaces the VmGroupPolicy "default".
func (r *rig) setPolicy(spec v1alpha1.VmGroupPolicySpec) {
	r.t.Helper()
	object := &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: spec}
	_ = r.hub.Delete(r.t.Context(), object.DeepCopy())
	if err := r.hub.Create(r.t.Context(), object); err != nil {
		r.t.Fatal(err)
	}
	r.PoliciesChanged()
}

func clientKey(name string) types.NamespacedName { return types.NamespacedName{Name: name} }

func maxCPU(n int32) v1alpha1.VmGroupPolicySpec {
	return v1alpha1.VmGroupPolicySpec{Limits: &v1alpha1.PolicyLimits{CPU: &v1alpha1.CountRange{Max: &n}}}
}

func onlyTemplates(patterns ...string) v1alpha1.VmGroupPolicySpec {
	return v1alpha1.VmGroupPolicySpec{Templates: &v1alpha1.PolicyTemplates{Allow: patterns}}
}

// edit changes the group's spec, without a webhook that refuses the change.
func (r *rig) edit(change func(*v1alpha1.VmGroupSpec)) {
	r.t.Helper()
	g := r.group()
	change(&g.Spec)
	g.Generation++
	if err := r.member.Update(r.t.Context(), g); err != nil {
		r.t.Fatal(err)
	}
}

// work runs passes and lets vCenter's tasks finish.
func (r *rig) work() *v1alpha1.VmGroup {
	r.t.Helper()
	r.rounds(12)
	return r.group()
}

// says fails unless a condition is as expected, and returns its message.
func says(t testing.TB, g *v1alpha1.VmGroup, conditionType string, status metav1.ConditionStatus, reason string) string {
	t.Helper()
	c := meta.FindStatusCondition(g.Status.Conditions, conditionType)
	if c == nil || c.Status != status || c.Reason != reason {
		t.Fatalf("%s is not %s/%s: %s", conditionType, status, reason, words(g.Status.Conditions))
	}
	return c.Message
}

// vm returns a VM of the fake vCenter.
func (r *rig) vm(name string) *vsphere.VM {
	for _, vm := range r.vcenter.VMs() {
		if vm.Name == name {
			return &vm
		}
	}
	return nil
}

func TestWhatIsAllowedIsAdmittedBeforeTheFirstClone(t *testing.T) {
	r := newRig(t)
	r.onStatus = func() error {
		if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) > 0 && r.group().Status.Admitted == nil {
			t.Errorf("cloned before it was written down what was admitted: %v", calls)
		}
		return nil
	}
	r.mustPass()
	g := r.group()
	want := v1alpha1.Admitted{Revision: plan.Revision(g.Spec), Replicas: 2, VMShape: v1alpha1.VMShape{CPU: 1, Memory: 1, Template: "debian-12"}}
	if len(r.vcenter.Calls(vsphere.OpClone)) != 2 || g.Status.Admitted == nil || *g.Status.Admitted != want {
		t.Errorf("admitted %+v, want %+v", g.Status.Admitted, want)
	}
	says(t, g, v1alpha1.ConditionPolicyCompliant, "True", v1alpha1.ReasonPolicyAllows)
}

func TestATightenedPolicyDestroysNothingAndRepairsOn(t *testing.T) {
	r := newRig(t)
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.CPU = 4 })
	before := r.settle()
	r.setPolicy(maxCPU(2))
	g := r.work()
	message := says(t, g, v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonPolicyTightened)
	if !strings.HasPrefix(message, `spec.cpu: Invalid value: 4: exceeds the maximum 2 of VmGroupPolicy "default"`) {
		t.Errorf("the message is %q", message)
	}
	if g.Status.Phase != v1alpha1.PhaseRunning || len(r.vcenter.VMs()) != 2 {
		t.Errorf("phase %s with %d VMs", g.Status.Phase, len(r.vcenter.VMs()))
	}
	r.vcenter.ByHand().Delete("web-1")
	g = r.work()
	vm := r.vm("web-1")
	if vm == nil || vm.CPU != 4 || vm.Stamp.Revision != before.Status.UpdateRevision {
		t.Fatalf("the lost VM did not come back as it was: %+v", vm)
	}
	says(t, g, v1alpha1.ConditionReady, "True", v1alpha1.ReasonAllVMsReady)

	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	g = r.work()
	says(t, g, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonPolicyViolated)
	if len(r.vcenter.VMs()) != 2 || g.Status.DesiredReplicas != 3 {
		t.Errorf("a group that violates policy grew to %d VMs, or hides that %d are wanted", len(r.vcenter.VMs()), g.Status.DesiredReplicas)
	}
}

// An installation that relied on any policy to lift all default limits is updated.
func TestAGroupBeyondADefaultLimitIsKeptAndMayShrink(t *testing.T) {
	r := newRig(t)
	r.setPolicy(maxCPU(16))
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.CPU = 16 })
	r.settle()
	r.setPolicy(onlyTemplates("debian-*"))
	message := says(t, r.work(), v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonPolicyTightened)
	if want := "spec.cpu: Invalid value: 16: exceeds the maximum 4 that holds by default"; !strings.HasPrefix(message, want) {
		t.Errorf("the message is %q", message)
	}
	r.vcenter.ByHand().Delete("web-1")
	r.work()
	if vm := r.vm("web-1"); vm == nil || vm.CPU != 16 {
		t.Fatalf("the lost VM did not come back as it was: %+v", vm)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	says(t, r.work(), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonPolicyViolated)
	if n := len(r.vcenter.VMs()); n != 2 {
		t.Errorf("it grew to %d VMs", n)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 1 })
	if r.work(); len(r.vcenter.VMs()) != 1 {
		t.Errorf("%d VMs after it was shrunk to one", len(r.vcenter.VMs()))
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 2 })
	r.setPolicy(maxCPU(16))
	if r.settle(); len(r.vcenter.VMs()) != 2 {
		t.Errorf("%d VMs once a policy allows 16 CPUs", len(r.vcenter.VMs()))
	}
}

func TestAForbiddenEditIsHeldAtTheOldRevision(t *testing.T) {
	r := newRig(t)
	r.setPolicy(onlyTemplates("debian-*"))
	r.vcenter.AddTemplate(vsphere.Template{Name: "windows-11"})
	old := r.settle().Status.UpdateRevision

	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Template, s.CPU, *s.Replicas = "windows-11", 2, 3 })
	r.vcenter.ByHand().Delete("web-0")
	g := r.work()
	message := says(t, g, v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonPolicyViolated)
	for _, part := range []string{
		`spec.template: Invalid value: "windows-11": matches none of the templates that VmGroupPolicy "default" allows: debian-*`,
		`2 VMs with cpu 1 and memory 1 GiB from template "debian-12"`,
	} {
		if !strings.Contains(message, part) {
			t.Errorf("the message %q does not say %q", message, part)
		}
	}
	says(t, g, v1alpha1.ConditionReady, "False", v1alpha1.ReasonPolicyViolated)
	says(t, g, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonPolicyViolated)
	vm := r.vm("web-0")
	if vm == nil || vm.Stamp.Revision != old || vm.CPU != 1 || len(r.vcenter.VMs()) != 2 {
		t.Fatalf("the lost VM came back as %+v, of %d; want revision %s", vm, len(r.vcenter.VMs()), old)
	}
	if g.Status.Phase != v1alpha1.PhaseError || g.Status.UpdatedReplicas != 0 || g.Status.DesiredReplicas != 3 || g.Status.UpdateRevision == old {
		t.Errorf("status reports a group that is not held: %+v", g.Status)
	}
	says(t, g, v1alpha1.ConditionUpToDate, "False", v1alpha1.ReasonRolloutPending)

	// It can shrink, and does not regain the released quota.
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 1 })
	if g = r.work(); len(r.vcenter.VMs()) != 1 || g.Status.Admitted.Replicas != 1 {
		t.Errorf("%d VMs, admitted %+v; want 1", len(r.vcenter.VMs()), g.Status.Admitted)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 2 })
	if r.work(); len(r.vcenter.VMs()) != 1 {
		t.Errorf("a held group grew to %d VMs", len(r.vcenter.VMs()))
	}
	// And follow spec in the fields that no policy covers.
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.PowerState = v1alpha1.PoweredOff })
	r.work()
	for _, vm := range r.vcenter.VMs() {
		if vm.Power != vsphere.PoweredOff {
			t.Errorf("%s is %s", vm.Name, vm.Power)
		}
	}
	// Once it complies it continues.
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		s.Template, s.PowerState, *s.Replicas = "debian-12", v1alpha1.PoweredOn, 2
	})
	r.settle()
	if len(r.vcenter.VMs()) != 2 {
		t.Errorf("%d VMs after spec was corrected", len(r.vcenter.VMs()))
	}
	// And it can be deleted at any time.
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Template = "windows-11" })
	if err := r.member.Delete(t.Context(), r.work()); err != nil {
		t.Fatal(err)
	}
	r.rounds(12)
	if vms := r.vcenter.VMs(); len(vms) != 0 {
		t.Errorf("VMs of a deleted group are left: %v", vms)
	}
}

func TestAGroupThatWasNeverAdmittedGetsNothing(t *testing.T) {
	r := newRig(t)
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.CPU = 16 })
	g := r.work()
	message := says(t, g, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonPolicyViolated)
	if want := "spec.cpu: Invalid value: 16: exceeds the maximum 4 that holds by default: no VmGroupPolicy in mode Enforce limits it here"; !strings.HasPrefix(message, want) {
		t.Errorf("the message is %q", message)
	}
	if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) != 0 || g.Status.Admitted != nil || g.Status.Phase != v1alpha1.PhaseError {
		t.Errorf("clones %v, admitted %v, phase %s", calls, g.Status.Admitted, g.Status.Phase)
	}
	r.setPolicy(maxCPU(16))
	r.settle()
}

func TestAGroupOlderThanAdmissionLosesNothing(t *testing.T) {
	r := newRig(t)
	r.setPolicy(maxCPU(16))
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.CPU = 16 })
	g := r.settle()
	g.Status.Admitted = nil
	if err := r.member.Status().Update(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	r.records.Lose()
	r.setPolicy(maxCPU(4))
	g = r.work()
	says(t, g, v1alpha1.ConditionReady, "True", v1alpha1.ReasonAllVMsReady)
	says(t, g, v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonPolicyViolated)
	r.vcenter.ClearJournal()
	r.vcenter.ByHand().Delete("web-1")
	g = r.work()
	says(t, g, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonPolicyViolated)
	if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) != 0 || len(r.vcenter.VMs()) != 1 {
		t.Errorf("clones %v, %d VMs; want the one that is left", calls, len(r.vcenter.VMs()))
	}
	r.setPolicy(maxCPU(16))
	if g = r.settle(); g.Status.Admitted == nil {
		t.Error("a group that complies was not admitted")
	}
}

func TestShrinkingBelowAMinimumIsDoneAndReported(t *testing.T) {
	r := newRig(t)
	least := int32(2)
	r.setPolicy(v1alpha1.VmGroupPolicySpec{Limits: &v1alpha1.PolicyLimits{Replicas: &v1alpha1.CountRange{Min: &least}}})
	r.settle()
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 1 })
	g := r.settle()
	says(t, g, v1alpha1.ConditionPolicyCompliant, "True", v1alpha1.ReasonPolicyAllows)
	if c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionPolicyCompliant); !strings.Contains(c.Message, "is below the minimum 2") {
		t.Errorf("the message is %q", c.Message)
	}
	if len(r.vcenter.VMs()) != 1 || g.Status.Phase != v1alpha1.PhaseRunning {
		t.Errorf("%d VMs, phase %s", len(r.vcenter.VMs()), g.Status.Phase)
	}
}

func TestAnEditToAnUngrantedTemplateIsHeldToo(t *testing.T) {
	r := newRig(t)
	r.vcenter.AddTemplate(vsphere.Template{Name: "windows-11"})
	grant := func(templates ...string) {
		t.Helper()
		vc := &v1alpha1.VCenter{}
		if err := r.hub.Get(t.Context(), clientKey("default"), vc); err != nil {
			t.Fatal(err)
		}
		vc.Spec.Grants = []v1alpha1.Grant{{MemberClusters: []string{"*"}, Templates: templates}}
		if err := r.hub.Update(t.Context(), vc); err != nil {
			t.Fatal(err)
		}
	}
	grant("debian-*")
	old := r.settle().Status.UpdateRevision
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Template = "windows-11" })
	r.vcenter.ByHand().Delete("web-0")
	g := r.work()
	says(t, g, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonNotGranted)
	if vm := r.vm("web-0"); vm == nil || vm.Stamp.Revision != old {
		t.Fatalf("the lost VM came back as %+v", vm)
	}
	// The admitted spec must still be granted, or no VM is cloned from it.
	grant("ubuntu-*")
	r.vcenter.ClearJournal()
	r.vcenter.ByHand().Delete("web-1")
	r.work()
	if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) != 0 {
		t.Errorf("cloned from a template that is not granted any more: %v", calls)
	}
}

func TestAPolicyThatOnlyWarnsHoldsNothing(t *testing.T) {
	r := newRig(t)
	spec := maxCPU(1)
	spec.Mode = v1alpha1.PolicyWarn
	r.setPolicy(spec)
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.CPU = 2 })
	message := says(t, r.settle(), v1alpha1.ConditionPolicyCompliant, "True", v1alpha1.ReasonPolicyAllows)
	if !strings.Contains(message, "exceeds the maximum 1") {
		t.Errorf("the warning is missing: %q", message)
	}
}

func TestATemplateThatHasToExistHoldsAnEdit(t *testing.T) {
	r := newRig(t)
	r.setPolicy(v1alpha1.VmGroupPolicySpec{Templates: &v1alpha1.PolicyTemplates{MustExist: true}})
	r.settle()
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Template = "nope" })
	r.vcenter.ByHand().Delete("web-1")
	g := r.work()
	message := says(t, g, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonPolicyViolated)
	if want := `spec.template: Invalid value: "nope": does not exist in VCenter "default", and VmGroupPolicy "default" wants a template that exists`; !strings.HasPrefix(message, want) {
		t.Errorf("the message is %q", message)
	}
	if r.vm("web-1") == nil {
		t.Error("the lost VM did not come back")
	}
}

func TestAnEvaluationIsRememberedAndForgottenWithWhatItDependsOn(t *testing.T) {
	r := newRig(t)
	r.settle()
	for story, change := range map[string]func(){
		"policy":   func() { r.setPolicy(onlyTemplates("ubuntu-*")) },
		"template": func() { r.setPolicy(onlyTemplates("debian-*")) },
		"cpu":      func() { r.edit(func(s *v1alpha1.VmGroupSpec) { s.CPU++ }) },
		"replicas": func() { r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas++ }) },
	} {
		r.mustPass()
		before := r.memory.of(r.object()).evaluated
		r.mustPass()
		if again := r.memory.of(r.object()).evaluated; again.set != before.set || again.asked != before.asked {
			t.Errorf("%s: a group that did not change was evaluated again", story)
		}
		change()
		r.mustPass()
		if after := r.memory.of(r.object()).evaluated; after.set == before.set && after.asked == before.asked {
			t.Errorf("%s: an old verdict was used", story)
		}
	}
}

func TestAPreviewChangesNothing(t *testing.T) {
	r := newRig(t)
	r.settle()
	r.vcenter.ClearJournal()
	before := r.group()
	next := before.DeepCopy()
	*next.Spec.Replicas = 5
	preview, err := r.Preview(t.Context(), v1alpha1.LocalMember, next)
	if err != nil || !preview.Known || preview.Plan.Creates() != 3 || preview.TemplatePath == "" {
		t.Errorf("preview %+v, %v", preview, err)
	}
	next.Spec.Template = "nope"
	if preview, err = r.Preview(t.Context(), v1alpha1.LocalMember, next); err != nil || !preview.TemplateMissing {
		t.Errorf("preview %+v, %v", preview, err)
	}
	next.Spec.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: "x"}
	if preview, err = r.Preview(t.Context(), v1alpha1.LocalMember, next); err != nil || len(preview.Denials) != 1 || preview.Known {
		t.Errorf("preview %+v, %v", preview, err)
	}
	if calls := r.vcenter.Journal(); len(calls) != 0 || r.group().ResourceVersion != before.ResourceVersion {
		t.Errorf("a preview acted: %v", calls)
	}
	fresh := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "new", UID: "u"}, Spec: before.Spec}
	if preview, err = r.Preview(t.Context(), v1alpha1.LocalMember, fresh); err != nil || preview.Plan.Creates() != 2 {
		t.Errorf("preview of a new group: %+v, %v", preview, err)
	}
	if _, kept := r.memory.groups[objectOf("member-uid", fresh)]; kept {
		t.Error("a group that need not exist is remembered")
	}
}
