//go:build unix

package tenancy

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/hostileapi"
)

// TestAnAPIServerThatShowsTheUIDOfAnotherMemberIsServedNothing: one shows the UID of the victim's cluster as soon as it
// is joined, another when it has been a member for a while. Both list the victim's group with 0 replicas.
func TestAnAPIServerThatShowsTheUIDOfAnotherMemberIsServedNothing(t *testing.T) {
	w := shared.enter(t)
	g := newGuarded(t, w, "identity")
	system := &corev1.Namespace{}
	if err := g.cluster.Get(t.Context(), types.NamespacedName{Name: metav1.NamespaceSystem}, system); err != nil {
		t.Fatal(err)
	}
	uid := string(system.UID)
	scaledDown := hostileapi.ObjectOf(g.get(g.name))
	hostileapi.Set(scaledDown, 0, "spec", "replicas")
	hostileapi.Set(scaledDown, 7, "metadata", "generation")

	turncoat := newAttacker(t, w, "turncoat", g.namespace).joined()
	defer turncoat.toldNothingOf(g)
	turncoat.apply("own", 1, false)
	own := turncoat.untilRunning("at first", "own", 1).Status
	first := turncoat.clusterUID.Swap(uid).(string)

	impostor := newAttacker(t, w, "impostor", g.namespace)
	defer impostor.toldNothingOf(g)
	impostor.clusterUID.Store(uid)
	impostor.Invent(groups, scaledDown)
	impostor.join()
	impostor.untilItSays(v1alpha1.ReasonDuplicateMember, `"`+victim+`"`, "Delete one of the two")
	g.served("while a new member shows its UID")

	turncoat.untilItSays(v1alpha1.ReasonAnotherCluster, uid, first)
	turncoat.Invent(groups, scaledDown)
	turncoat.scale("own", 2) // no operator serves it
	g.served("while an old member shows its UID, too")
	all, err := w.Person.VMs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for path, vm := range all {
		if strings.HasPrefix(path, own.Folder.Path+"/") {
			left = append(left, vm.Ref.Value)
		}
		if strings.HasPrefix(path, root+"/"+impostor.member+"/") {
			t.Errorf("the impostor has %s", path)
		}
	}
	if len(left) != 1 || left[0] != own.VMs[0].MoRef {
		t.Errorf("the VMs of the member that was pinned to another UID are %q, want %s alone", left, own.VMs[0].MoRef)
	}
	if err := w.UntilServed(t.Context(), victim); err != nil {
		t.Error(err)
	}
}
