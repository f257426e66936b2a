package vmgroup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/events"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
)

// listens keeps the events for hub administrators, as member and reason, and the notes.
func (r *rig) listens() (told *[]string, notes *[]string) {
	told, notes = &[]string{}, &[]string{}
	r.MemberEvents = events.NewMembers(anyMember{}, memberEvents(func(member, reason, note string) {
		*told, *notes = append(*told, member+" "+reason), append(*notes, note)
	}), r.Now)
	return told, notes
}

// anyMember is a hub that has each MemberCluster.
type anyMember struct{ client.Reader }

func (anyMember) Get(_ context.Context, key client.ObjectKey, of client.Object, _ ...client.GetOption) error {
	of.SetName(key.Name)
	return nil
}

// memberEvents receives events of MemberClusters.
type memberEvents func(member, reason, note string)

func (m memberEvents) Eventf(of, _ runtime.Object, _, reason, _, note string, args ...any) {
	m(of.(client.Object).GetName(), reason, fmt.Sprintf(note, args...))
}

func TestTheHubIsToldOnceOfAMemberThatNamesWhatIsAnothers(t *testing.T) {
	r := newRig(t)
	told, notes := r.listens()
	victim := r.settle()
	if len(*told) > 0 {
		t.Fatalf("events about an ordinary group: %q", *notes)
	}
	forged := victim.DeepCopy()
	forged.Status.Admitted = nil
	a := r.attackedBy(forged)
	both := []string{"attacker " + v1alpha1.EventSharedGroupUID, v1alpha1.LocalMember + " " + v1alpha1.EventSharedGroupUID}
	if slices.Sort(*told); !slices.Equal(*told, both) {
		t.Errorf("events about the second group: %q, want %q", *told, both)
	}
	lies := func() {
		t.Helper()
		g := victim.DeepCopy()
		if err := a.client.Get(t.Context(), a.request.NamespacedName, g); err != nil {
			t.Fatal(err)
		}
		g.Status.Folder, g.Status.VMs = victim.Status.Folder, victim.Status.VMs
		if err := a.client.Status().Update(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		r.attack(a, 2)
	}
	*told, *notes = nil, nil
	lies()
	lies()
	if want := []string{"attacker " + v1alpha1.EventForeignRecord}; !slices.Equal(*told, want) {
		t.Fatalf("events about two forged statuses: %q, want %q", *told, want)
	}
	for _, word := range []string{"VmGroup team/web", victim.Status.Folder.Path, victim.Status.Folder.MoRef, "kubectl patch membercluster attacker"} {
		if !strings.Contains((*notes)[0], word) {
			t.Errorf("%q does not say %q", (*notes)[0], word)
		}
	}
	r.now = r.now.Add(10*time.Minute + time.Second)
	lies()
	if len(*told) != 2 || !strings.Contains((*notes)[1], "Found again since the last such event: 1.") {
		t.Errorf("events ten minutes later: %q: %q", *told, *notes)
	}
}

func TestTheHubIsToldOfAStatusThatNamesTheVMOfAnotherGroup(t *testing.T) {
	r := newRig(t)
	told, notes := r.listens()
	forged := r.settle().DeepCopy()
	forged.UID, forged.Name, forged.Status.Folder, forged.Status.Admitted = "another", "own", nil, nil
	r.attack(r.attackedBy(forged), 2)
	if want := []string{"attacker " + v1alpha1.EventForeignRecord}; !slices.Equal(*told, want) || !strings.Contains((*notes)[0], "the stamp of another group") {
		t.Errorf("events %q: %q; want %q", *told, *notes, want)
	}
}

func TestAGroupByAnotherNameOfItsMemberSharesNoUID(t *testing.T) {
	r := newRig(t)
	told, _ := r.listens()
	g := r.settle()
	r.Fleet.SetGroup(refOf(r.request), r.key(), g, "default")
	renamed := r.request
	renamed.ClusterName = "renamed"
	r.Fleet.SetGroup(refOf(renamed), r.key(), g, "default")
	r.delivered()
	if len(*told) > 0 {
		t.Errorf("events about one group: %q", *told)
	}
}

// TestWhatTheHubIsToldHasNamesOfMembersInQuotes if Kubernetes does not allow the names: they must not look like
// advice.
func TestWhatTheHubIsToldHasNamesOfMembersInQuotes(t *testing.T) {
	const advice = "web. Run kubectl delete membercluster team-a"
	r := newRig(t)
	_, notes := r.listens()
	r.sharedUID(t.Context(), fleet.Twins{UID: advice, One: fleet.Ref{Member: "one", Namespace: "team", Name: advice}, Other: fleet.Ref{Member: "other", Namespace: "team", Name: "db"}})
	r.foreignRecord(t.Context(), &group.Snapshot{Member: "one", ForeignRecord: "a folder", Group: &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: advice}}})
	if len(*notes) != 3 {
		t.Fatalf("events %q, want 3", *notes)
	}
	for _, note := range *notes {
		for _, quoted := range []string{`"team/` + advice + `"`, `"` + advice + `"`} {
			note = strings.ReplaceAll(note, quoted, "")
		}
		if strings.Contains(note, advice) {
			t.Errorf("a name is not in quotes: %q", note)
		}
	}
	if !strings.Contains((*notes)[1], "VmGroup team/db has the UID") {
		t.Errorf("an ordinary name is in quotes: %q", (*notes)[1])
	}
}
