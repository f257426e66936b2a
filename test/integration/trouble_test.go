//go:build unix

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

func TestAMissingTemplateIsFixedByAPatch(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-a", "missing-template")
	p.apply(p.group("vg", 1, func(g *v1alpha1.VmGroup) { g.Spec.Template = "no-such-template" }))
	g := p.untilSays("vg", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonTemplateNotFound, "no-such-template")
	if g.Status.Phase != v1alpha1.PhaseError || !strings.Contains(g.Status.LastMessage, "no-such-template") {
		t.Errorf("phase %s, message %q; want ERROR and the template's name", g.Status.Phase, g.Status.LastMessage)
	}
	p.patch("vg", fmt.Sprintf(`{"spec":{"template":%q}}`, template))
	p.untilRunning("vg", 1)
}

func TestATemplateThatAppearsLaterIsFoundWithoutAnEdit(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-a", "late-template")
	p.apply(p.group("vg", 1, func(g *v1alpha1.VmGroup) { g.Spec.Template = "late" }))
	p.untilSays("vg", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonTemplateNotFound)
	if err := w.Person.AddTemplate(t.Context(), "/DC0/vm", "late"); err != nil {
		t.Fatal(err)
	}
	p.untilRunning("vg", 1)
}

func TestWhatIsNotGrantedIsRefusedAndNothingIsCloned(t *testing.T) {
	w := calm.enter(t)
	dev := newPlace(t, w, "team-a", "grants-dev", "stage", "dev")
	prod := newPlace(t, w, "team-a", "grants-prod", "stage", "prod")
	other := newPlace(t, w, "team-b", "grants-dev", "stage", "dev")
	with := func(template string, placement *v1alpha1.Placement) func(*v1alpha1.VmGroup) {
		return func(g *v1alpha1.VmGroup) {
			g.Spec.VCenter, g.Spec.Template, g.Spec.Placement = granted, template, placement
		}
	}
	for _, c := range []struct {
		name   string
		place  *place
		change func(*v1alpha1.VmGroup)
		reason string
		words  string
	}{
		{"ordinary-vm", dev, func(g *v1alpha1.VmGroup) { g.Spec.Template = "db-prod-0" }, v1alpha1.ReasonNotATemplate, "db-prod-0"},
		// Users without a grant do not learn whether a name exists.
		{"hidden-vm", dev, with("db-prod-0", nil), v1alpha1.ReasonNotGranted, "db-prod-0"},
		{"hidden-nothing", dev, with("db-prod-1", nil), v1alpha1.ReasonNotGranted, "db-prod-1"},
		{"no-template", dev, with("linux-99", nil), v1alpha1.ReasonTemplateNotFound, "spec.template"},
		{"template", dev, with("windows-11", nil), v1alpha1.ReasonNotGranted, "windows-11"},
		{"datastore", dev, with("linux-12", &v1alpha1.Placement{Datastore: "LocalDS_0"}), v1alpha1.ReasonNotGranted, "LocalDS_0"},
		{"network", dev, with("linux-12", &v1alpha1.Placement{Network: "VM Network"}), v1alpha1.ReasonNotGranted, "VM Network"},
		{"pool", dev, with("linux-12", &v1alpha1.Placement{ResourcePool: "DC0_C0/Resources"}), v1alpha1.ReasonNotGranted, "DC0_C0/Resources"},
		{"no-datastore", dev, with("linux-12", &v1alpha1.Placement{Datastore: "no-such"}), v1alpha1.ReasonPlacementNotFound, "no-such"},
		{"namespace", prod, with("linux-12", nil), v1alpha1.ReasonNotGranted, "grants-prod"},
		{"member", other, with("linux-12", nil), v1alpha1.ReasonNotGranted, "team-b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := *c.place
			p.t, p.ctx = t, t.Context()
			p.apply(p.group(c.name, 1, c.change))
			g := p.untilSays(c.name, v1alpha1.ConditionStalled, "True", c.reason, c.words)
			if g.Status.Phase != v1alpha1.PhaseError || len(g.Status.VMs) != 0 || g.Status.Folder != nil {
				t.Errorf("phase %s, VMs %v, folder %v; want ERROR and nothing created", g.Status.Phase, g.Status.VMs, g.Status.Folder)
			}
			if c.reason == v1alpha1.ReasonNotGranted && !meta.IsStatusConditionFalse(g.Status.Conditions, v1alpha1.ConditionPolicyCompliant) {
				t.Error("PolicyCompliant is not False")
			}
		})
	}
	if vms := inVCenter(t, w, "/DC0/vm/granted"); len(vms) != 0 || len(inVCenter(t, w, "/DC0/vm/vm-operator/team-a/grants-dev")) != 0 {
		t.Errorf("something was cloned: %s", paths(vms))
	}
	// Granted names work, and a label makes the difference without a restart.
	dev.apply(dev.group("allowed", 1, with("linux-12", nil)))
	dev.untilRunning("allowed", 1)
	prod.apply(prod.group("promoted", 1, with("linux-12", nil)))
	prod.untilSays("promoted", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonNotGranted)
	namespace := namespaceObject("grants-prod", nil)
	if err := prod.cluster.Patch(t.Context(), namespace, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"stage":"dev"}}}`))); err != nil {
		t.Fatal(err)
	}
	prod.untilRunning("promoted", 1)
}

func TestAnUnknownVCenterIsNamedAndDoesNotHoldTheDeletion(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-a", "unknown-vcenter")
	p.apply(p.group("vg", 2, func(g *v1alpha1.VmGroup) { g.Spec.VCenter = "nowhere" }))
	p.untilSays("vg", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonVCenterNotFound, "nowhere")
	p.delete("vg")
	p.untilGone("vg")
}

func TestEditsApplyToNewVMsAndOldOnesAreNamedWherePeopleReplaceThem(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-a", "edits")
	p.apply(p.group("vg", 2))
	folder := folderOf(t, p.untilRunning("vg", 2))
	p.patch("vg", `{"spec":{"cpu":2,"memory":3,"updateStrategy":{"type":"OnDelete"}}}`)
	g := p.untilSays("vg", v1alpha1.ConditionUpToDate, "False", v1alpha1.ReasonRolloutPending, "vg-0", "vg-1")
	if g.Status.UpdatedReplicas != 0 || g.Status.Replicas != 2 {
		t.Errorf("updated %d of %d, want 0 of 2", g.Status.UpdatedReplicas, g.Status.Replicas)
	}
	p.patch("vg", `{"spec":{"replicas":3}}`)
	g = p.untilRunning("vg", 3)
	if g.Status.UpdatedReplicas != 1 {
		t.Errorf("updated %d, want the new one", g.Status.UpdatedReplicas)
	}
	for path, vm := range inVCenter(t, w, folder) {
		cpu, memory := int32(1), int32(1024)
		if strings.HasSuffix(path, "/vg-2") {
			cpu, memory = 2, 3072
		}
		if vm.CPU != cpu || vm.MemoryMB != memory {
			t.Errorf("%s has %d CPUs and %d MiB, want %d and %d", path, vm.CPU, vm.MemoryMB, cpu, memory)
		}
	}
}

func TestPauseHoldsRepairAndDeletionUntilItEnds(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-b", "paused")
	p.apply(p.group("vg", 2))
	folder := folderOf(t, p.untilRunning("vg", 2))
	p.patch("vg", `{"metadata":{"annotations":{"`+v1alpha1.PausedAnnotation+`":"true"}}}`)
	p.untilSays("vg", v1alpha1.ConditionReady, "True", v1alpha1.ReasonAllVMsReady, v1alpha1.PausedAnnotation)
	if err := w.Person.Destroy(t.Context(), folder+"/vg-1"); err != nil {
		t.Fatal(err)
	}
	p.patch("vg", `{"spec":{"replicas":3}}`)
	p.untilSays("vg", v1alpha1.ConditionReady, "False", v1alpha1.ReasonPaused, v1alpha1.PausedAnnotation)
	if vms := inVCenter(t, w, folder); len(vms) != 1 {
		t.Errorf("a paused group has %s, want vg-0 alone", paths(vms))
	}
	p.patch("vg", `{"metadata":{"annotations":null}}`)
	p.untilRunning("vg", 3)
}

func TestEventsOfAVMThatIsLostAgainAndAgainAreCounted(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-b", "flapping")
	p.apply(p.group("vg", 1))
	g := p.untilRunning("vg", 1)
	const times = 3
	for range times {
		was := g.Status.VMs[0].MoRef
		if err := w.Person.Destroy(t.Context(), folderOf(t, g)+"/vg-0"); err != nil {
			t.Fatal(err)
		}
		g = p.until("the VM to be replaced", "vg", func(g *v1alpha1.VmGroup) bool {
			return stack.IsReady(g.Status.Conditions) && g.Status.VMs[0].MoRef != was
		})
	}
	var events eventsv1.EventList
	if err := await.Condition(t.Context(), "the last VM's event", func(ctx context.Context) (bool, error) {
		raw, err := p.cluster.Raw(ctx, "/apis/events.k8s.io/v1/namespaces/"+p.namespace+"/events")
		if err != nil {
			return false, err
		}
		events = eventsv1.EventList{}
		if err := json.Unmarshal([]byte(raw), &events); err != nil {
			return false, err
		}
		return slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool {
			return e.Regarding.UID == g.UID && e.Series != nil && e.Series.Count == times+1
		}), nil
	}); err != nil {
		t.Fatal(err)
	}
	seen, all := map[string]bool{}, ""
	for _, e := range events.Items {
		if e.Regarding.UID != g.UID {
			continue // from a group of an earlier run
		}
		what := e.Reason + ": " + e.Note
		if seen[what] {
			t.Errorf("two events say %q", what)
		}
		seen[what], all = true, all+what+"\n"
	}
	if before, _, ready := strings.Cut(all, "AllVMsReady"); !ready || !strings.Contains(before, "VMsCreated") { // sorted by name, and so by time
		t.Errorf("the group is ready before its VM was created:\n%s", all)
	}
	// Ten kinds, however often it is lost: each removed VM comes with the users who powered it off and who deleted it.
	if len(seen) > 10 {
		t.Errorf("%d events tell of one VM that was lost %d times:\n%s", len(seen), times, all)
	}
}

func TestPowerStateOffStopsVMs(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-b", "off")
	p.apply(p.group("vg", 2))
	folder := folderOf(t, p.untilRunning("vg", 2))
	p.patch("vg", `{"spec":{"powerState":"PoweredOff"}}`)
	p.until("both VMs to be stopped", "vg", func(g *v1alpha1.VmGroup) bool {
		for _, vm := range g.Status.VMs {
			if vm.Phase != v1alpha1.VMStopped {
				return false
			}
		}
		return stack.IsReady(g.Status.Conditions)
	})
	for path, vm := range inVCenter(t, w, folder) {
		if vm.On {
			t.Errorf("%s is on", path)
		}
	}
}

func TestAVMMovedOutOfTheRootIsReportedAndNotReplaced(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-a", "moved")
	p.apply(p.group("vg", 2, func(g *v1alpha1.VmGroup) { g.Spec.VCenter = bulk }))
	g := p.untilRunning("vg", 2)
	if err := w.Person.Move(t.Context(), folderOf(t, g)+"/vg-0", "/DC0/vm"); err != nil {
		t.Fatal(err)
	}
	p.untilSays("vg", v1alpha1.ConditionReady, "False", v1alpha1.ReasonVMsLost, g.Status.VMs[0].MoRef)
	if vms := inVCenter(t, w, folderOf(t, g)); len(vms) != 1 {
		t.Errorf("in the folder: %s; want vg-1 alone, since vg-0 still exists", paths(vms))
	}
	if err := w.Person.Move(t.Context(), "/DC0/vm/vg-0", folderOf(t, g)); err != nil {
		t.Fatal(err)
	}
	again := p.untilRunning("vg", 2)
	if again.Status.VMs[0].MoRef != g.Status.VMs[0].MoRef {
		t.Errorf("vg-0 is %s, was %s: it was replaced", again.Status.VMs[0].MoRef, g.Status.VMs[0].MoRef)
	}
	// Moved out and deleted there: no event reports it, but the group must still notice.
	if err := w.Person.Move(t.Context(), folderOf(t, g)+"/vg-0", "/DC0/vm"); err != nil {
		t.Fatal(err)
	}
	p.untilSays("vg", v1alpha1.ConditionReady, "False", v1alpha1.ReasonVMsLost, g.Status.VMs[0].MoRef)
	if err := w.Person.Destroy(t.Context(), "/DC0/vm/vg-0"); err != nil {
		t.Fatal(err)
	}
	if replaced := p.untilRunning("vg", 2); replaced.Status.VMs[0].MoRef == g.Status.VMs[0].MoRef {
		t.Error("the deleted VM is still counted")
	}
}

func TestNothingIsClonedIntoAFolderThatWasMovedOutOfTheRoot(t *testing.T) {
	w := calm.enter(t)
	v := newVCenter(t, w, "moved-folder") // its calls are counted
	p := newPlace(t, w, "team-a", "moved-folder")
	p.apply(p.group("vg", 1, v.of))
	g := p.untilRunning("vg", 1)
	folder := folderOf(t, g)
	name := folder[strings.LastIndex(folder, "/")+1:]
	if err := w.Person.MoveFolder(t.Context(), folder, "/DC0/vm"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Person.MoveFolder(context.WithoutCancel(t.Context()), "/DC0/vm/"+name, strings.TrimSuffix(folder, "/"+name)); err != nil {
			t.Error(err)
		}
	})
	p.untilSays("vg", v1alpha1.ConditionReady, "False", v1alpha1.ReasonVMsLost, g.Status.VMs[0].MoRef)
	v.proxy.Reset()
	p.patch("vg", `{"spec":{"replicas":2}}`)
	p.until("the moved folder to be named", "vg", func(g *v1alpha1.VmGroup) bool {
		return strings.Contains(stack.Words(g.Status.Conditions), "moved out of the operator's root folder")
	})
	if n := v.proxy.Count("CloneVM_Task", ""); n != 0 {
		t.Errorf("%d clones were sent for a folder outside of the root", n)
	}
}

func TestDeletionWaitsForClonesInFlight(t *testing.T) {
	w := calm.enter(t)
	v := newVCenter(t, w, "racing") // its calls are counted
	p := newPlace(t, w, "team-a", "racing")
	for i := range 8 {
		began := v.proxy.Count("CloneVM_Task", "")
		p.apply(p.group("vg", 4, v.of))
		// Deleted at another moment each time: before the folder exists, while clones run, when they have ended.
		if i > 0 {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			if err := await.Condition(ctx, "the group to get on", func(ctx context.Context) (bool, error) {
				g := &v1alpha1.VmGroup{}
				err := p.cluster.Get(ctx, key(p.namespace, "vg"), g)
				return len(g.Status.VMs) > 0 && v.proxy.Count("CloneVM_Task", "")-began >= min(i-1, 4), err
			}); err != nil {
				t.Fatal(err)
			}
			cancel()
		}
		p.delete("vg")
		p.untilGone("vg")
		if vms := inVCenter(t, w, "/DC0/vm/racing"); len(vms) != 0 {
			t.Fatalf("round %d: survivors of a deleted group: %s", i, paths(vms))
		}
	}
}

func TestBadMembersDelayNobody(t *testing.T) {
	w := calm.enter(t)
	// Accepts connections and never responds.
	hole, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hole.Close() }()
	good := string(w.Members["team-a"].Kubeconfig())
	blackHole := strings.ReplaceAll(good, w.Members["team-a"].Config.Host, "https://"+hole.Addr().String())
	refused := strings.ReplaceAll(good, "certificate-authority-data:", "insecure-skip-tls-verify: true\n    x-ca:")
	if blackHole == good || refused == good {
		t.Fatal("the kubeconfig does not look as this test expects")
	}
	for name, c := range map[string]struct{ kubeconfig, reason string }{
		"black-hole": {blackHole, v1alpha1.ReasonMemberUnreachable},
		"unsafe":     {refused, v1alpha1.ReasonKubeconfigRefused},
		"twin":       {good, v1alpha1.ReasonDuplicateMember},
	} {
		if err := w.Join(t.Context(), name, []byte(c.kubeconfig)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { leave(t, w, name) })
		defer untilMember(t, w, name, "False", c.reason)
	}
	p := newPlace(t, w, "team-b", "undisturbed")
	began := time.Now()
	p.apply(p.group("vg", 1))
	p.untilRunning("vg", 1)
	if took := time.Since(began); took > prompt {
		t.Errorf("a group of a healthy member took %s beside a black-holed one", took)
	}
}

func untilMember(t *testing.T, w *world, name string, status metav1.ConditionStatus, reason string, mentions ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	member := &v1alpha1.MemberCluster{}
	what := fmt.Sprintf("member %s to be Ready=%s %s with a message with %q", name, status, reason, mentions)
	if err := await.Condition(ctx, what, func(ctx context.Context) (bool, error) {
		err := w.Hub.Get(ctx, key("", name), member)
		return says(member.Status.Conditions, v1alpha1.ConditionReady, status, reason, mentions), err
	}); err != nil {
		t.Errorf("%v; conditions: %s", err, stack.Words(member.Status.Conditions))
	}
}

func leave(t *testing.T, w *world, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	member := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreNotFound(w.Hub.Delete(ctx, member)); err != nil {
		t.Error(err)
	}
	if err := await.Condition(ctx, "member "+name+" to be gone", func(ctx context.Context) (bool, error) {
		err := w.Hub.Get(ctx, key("", name), member)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}); err != nil {
		t.Errorf("%v; conditions: %s", err, stack.Words(member.Status.Conditions))
	}
}
