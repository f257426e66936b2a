package observe

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestARootDiskThatNoCloneCanHaveIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		story        string
		wants, bytes int64
		linked       bool
		reason, want string // empty for none
	}{
		{"as in the template", 0, 40 << 30, true, "", ""},
		{"larger", 41, 40 << 30, false, "", ""},
		{"the same", 40, 40 << 30, false, "", ""},
		{"unknown", 1, 0, false, "", ""},
		{"smaller", 39, 40<<30 + 1, false, v1alpha1.ReasonDiskTooSmall, "spec.disks.root.sizeGiB is 39, but the first disk of template /DC0/vm/debian has 40 GiB, and a clone's disk cannot be smaller; set at least 41"},
		{"of a linked clone", 80, 40 << 30, true, v1alpha1.ReasonNotSupported, "set spec.cloneMode to Full or LinkedPreferred"},
	} {
		names := group.Names{Template: vsphere.Template{Path: "/DC0/vm/debian", RootDiskBytes: c.bytes}, Linked: c.linked}
		checkDisk(&names, int32(c.wants))
		if b := names.Blocked; (b != nil) != (c.reason != "") || b != nil && (b.Reason != c.reason || !b.Terminal || !strings.Contains(b.Message, c.want)) {
			t.Errorf("%s: %+v", c.story, b)
		}
	}
}

func TestMoreDataDisksThanACloneHasRoomForAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wants, full, linked int
		isLinked            bool
		bytes               int64
		refused             bool
	}{
		{0, 0, 0, false, 1, false}, {2, 2, 0, false, 1, false}, {3, 2, 3, false, 1, true}, {3, 3, 2, true, 1, true}, {2, 0, 2, true, 1, false},
		{1, 0, 0, false, 0, false}, // of a template without a size, nothing is known
	} {
		names := group.Names{Template: vsphere.Template{Path: "/DC0/vm/debian", RootDiskBytes: c.bytes, DataDisks: c.full, DataDisksLinked: c.linked}, Linked: c.isLinked}
		checkDataDisks(&names, c.wants)
		if b := names.Blocked; (b != nil) != c.refused || c.refused && (b.Reason != v1alpha1.ReasonTooManyDisks || !b.Terminal || !strings.Contains(b.Message, "room for 2 more")) {
			t.Errorf("%+v: %+v", c, b)
		}
	}
}

func TestATemplateOutOfReachOfThePoolNeedsADatastore(t *testing.T) {
	t.Parallel()
	near, far := []string{"/DC0/datastore/near"}, []string{"/DC0/datastore/far"}
	ref := vsphere.Ref{Type: "Datastore", Value: "datastore-1"}
	for _, c := range []struct {
		story    string
		mode     v1alpha1.CloneMode
		there    []string
		named    vsphere.Ref
		linked   bool
		want     string // part of the message; empty for none
		isLinked bool
	}{
		{"in reach", v1alpha1.CloneFull, near, vsphere.Ref{}, false, "", false},
		{"in reach and linked", v1alpha1.CloneLinked, near, vsphere.Ref{}, true, "", true},
		{"not known", v1alpha1.CloneFull, nil, vsphere.Ref{}, false, "", false},
		{"out of reach", v1alpha1.CloneFull, far, vsphere.Ref{}, false,
			"no host of /DC0/host/C2, where the resource pool is, has a datastore of template /DC0/vm/debian (/DC0/datastore/near). Set spec.placement.datastore to a datastore of these hosts, for example /DC0/datastore/far", false},
		{"out of reach with a datastore", v1alpha1.CloneFull, far, ref, false, "", false},
		{"out of reach and linked", v1alpha1.CloneLinked, far, ref, true, "Use cloneMode Full with a datastore of theirs", true},
		{"out of reach, with a datastore, and better linked", v1alpha1.CloneLinkedPreferred, far, ref, true, "", false},
	} {
		names := group.Names{Template: vsphere.Template{Path: "/DC0/vm/debian", Datastores: near}, Linked: c.linked}
		names.Placement = vsphere.ResolvedPlacement{Datastore: c.named, Compute: vsphere.Compute{Path: "/DC0/host/C2", Datastores: c.there}}
		resolver{vcenter: "default"}.checkReach(&names, v1alpha1.VmGroupSpec{CloneMode: c.mode})
		switch {
		case (names.Blocked != nil) != (c.want != ""):
			t.Errorf("%s: %+v", c.story, names.Blocked)
		case c.want != "" && (!strings.Contains(names.Blocked.Message, c.want) || names.Blocked.Reason != v1alpha1.ReasonPlacementImpossible || !names.Blocked.Terminal):
			t.Errorf("%s: %+v", c.story, names.Blocked)
		case names.Linked != c.isLinked:
			t.Errorf("%s: linked is %t", c.story, names.Linked)
		}
	}
}
