package group

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// recordsFolder is a group of a member and namespace whose status records a folder at some path,
// with the folder name of the group.
func recordsFolder(member, namespace string, place vsphere.FolderPath) (*Snapshot, vsphere.Observation) {
	s := ours()
	s.Member, s.Group.Namespace = member, namespace
	s.Folder = &v1alpha1.FolderStatus{MoRef: "group-v7"}
	place.Leaf = FolderName(s.Group.Name, s.Group.UID)
	return s, vsphere.Observation{Complete: true, Folder: vsphere.Folder{
		Ref: s.FolderRef(), Name: place.Leaf, Path: "/DC0/vm/vm-operator/" + place.Member + "/" + place.Namespace + "/" + place.Leaf, Place: place,
	}}
}

// TestAFolderOfAnotherMemberIsNoHomeHoweverTheNamespaceIsSpelled: the API server of a member can show any namespace.
func TestAFolderOfAnotherMemberIsNoHomeHoweverTheNamespaceIsSpelled(t *testing.T) {
	victims := vsphere.FolderPath{Member: "victim", Namespace: "shop"}
	for _, namespace := range []string{
		"../victim/shop", "./../victim/shop", "x/../../victim/shop", "../victim/shop/", "..//victim/shop", "/../victim/shop", "", ".", "..", "shop", "victim/shop", "%2e%2e%2fvictim%2fshop",
	} {
		s, seen := recordsFolder("attacker", namespace, victims)
		if home := s.Home(seen); !home.IsZero() {
			t.Errorf("namespace %q: a group of the attacker is at home in the victim's folder", namespace)
		}
		if s.NamesOfOthers(seen) == "" {
			t.Errorf("namespace %q: that status names the folder of another is not reported", namespace)
		}
	}
	if s, seen := recordsFolder("victim", "shop", victims); s.Home(seen) != s.FolderRef() {
		t.Error("the victim is not at home in its own folder")
	}
}

// TestMemberAndNamespaceAreComparedAsElements: a group is at home in a folder without its VMs if and only if both names are equal.
func TestMemberAndNamespaceAreComparedAsElements(t *testing.T) {
	text := rapid.StringMatching(`[ab./]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		member, namespace := text.Draw(t, "member"), text.Draw(t, "namespace")
		place := vsphere.FolderPath{Member: text.Draw(t, "member of the folder"), Namespace: text.Draw(t, "namespace of the folder")}
		equal := place.Member == member && place.Namespace == namespace
		s, seen := recordsFolder(member, namespace, place)
		if got := !s.Home(seen).IsZero(); got != equal {
			t.Fatalf("a group of %q and %q is at home in a folder of %+v: %t", member, namespace, place, got)
		}
		s.Adoption = &Adoption{From: "0a1b2c3d-0000-4000-8000-000000000001", Folders: map[vsphere.Ref]vsphere.FolderPath{}}
		place.Leaf = FolderName("old", types.UID(s.Adoption.From))
		other := vsphere.FolderRef("group-v8")
		s.Adoption.Folders[other] = place
		if got := s.at(other); got != equal {
			t.Fatalf("a group of %q and %q adopts from a folder of %+v: %t", member, namespace, place, got)
		}
	})
}

func TestAReferenceOfAFolderThatIsTooLongIsNone(t *testing.T) {
	s := ours()
	for n, none := range map[int]bool{128: false, 129: true} {
		s.Folder = &v1alpha1.FolderStatus{MoRef: strings.Repeat("v", n)}
		if s.FolderRef().IsZero() != none {
			t.Errorf("a reference of %d bytes counts: %t", n, none)
		}
	}
}
