package vcenter

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

func at(name, server, datacenter, folder string) v1alpha1.VCenter {
	vc := v1alpha1.VCenter{Spec: v1alpha1.VCenterSpec{Server: server, Datacenter: datacenter, Folder: folder}}
	vc.Name = name
	return vc
}

func TestNeighbors(t *testing.T) {
	all := []v1alpha1.VCenter{
		at("b", "HTTPS://VC.example.com:443/sdk", "DC0", "/vms/"), at("a", "vc.example.com", "DC0", "vms"), at("c", "vc.example.com", "DC1", "vms"),
		at("d", "vc.example.com:8443", "DC0", "vms"), at("e", "", "DC0", "vms"), at("f", "", "DC0", "vms"), at("g", "vc.example.com", "DC0", ""),
		at("h", "https://vc.example.com", "DC0", "vm-operator"), at("i", "https://vc.example.com", "DC0", "vms"),
	}
	for name, want := range map[string][]string{"a": {"b", "i"}, "b": {"a", "i"}, "c": nil, "d": nil, "e": nil, "g": {"h"}} {
		i := slices.IndexFunc(all, func(vc v1alpha1.VCenter) bool { return vc.Name == name })
		if got := neighborsOf(&all[i], all); !slices.Equal(got, want) {
			t.Errorf("neighbors of %s: %q, want %q", name, got, want)
		}
	}
}

// TestAVCenterSaysWhoSharesItsPlace also without a Secret: then there is no connection yet.
func TestAVCenterSaysWhoSharesItsPlace(t *testing.T) {
	vc, other := vcenterForTest(), vcenterForTest()
	vc.Finalizers, other.Name = []string{v1alpha1.VCenterFinalizer}, "other"
	vc.Spec.Server, other.Spec.Server = "https://vc.example.com", "https://vc.example.com"
	c := clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithStatusSubresource(vc).WithObjects(vc, other).Build()
	r := &Reconciler{
		Client: c, Pool: NewPool(), Groups: &groupsForTest{}, Namespace: "operator", Now: time.Now, Events: events.NewFakeRecorder(10),
		Dial: func(Config, vsphere.Notifier) Connection { panic("there is no Secret") },
	}
	look := func() string {
		t.Helper()
		key := types.NamespacedName{Name: vc.Name}
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), key, vc); err != nil {
			t.Fatal(err)
		}
		if found := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionSharedPlace); found != nil {
			return found.Message
		}
		return ""
	}
	if said := look(); !strings.HasPrefix(said, "VCenter other has the same server") {
		t.Errorf("it says %q", said)
	}
	if err := c.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if said := look(); said != "" {
		t.Errorf("after the other has gone it says %q", said)
	}
}

// A user with write access can copy or edit the status of a VCenter: the root folder of another VCenter holds VMs of this installation as well.
func TestTheRootFolderOfAnotherVCenterIsNotTakenFromStatus(t *testing.T) {
	root := &v1alpha1.VCenterRoot{InstanceUUID: "u", Folder: "vm-operator", MoRef: "group-7"}
	for story, c := range map[string]struct {
		other *v1alpha1.VCenterRoot
		kept  bool
	}{
		"no other VCenter has one":     {kept: true},
		"another has another":          {&v1alpha1.VCenterRoot{InstanceUUID: "u", MoRef: "group-8"}, true},
		"another's is of another host": {&v1alpha1.VCenterRoot{InstanceUUID: "v", MoRef: "group-7"}, true},
		"another has the same":         {root.DeepCopy(), false},
	} {
		t.Run(story, func(t *testing.T) {
			f := newRefusal(t, good)
			f.vc.Status.Root = root.DeepCopy()
			if err := f.Status().Update(t.Context(), f.vc); err != nil {
				t.Fatal(err)
			}
			other := &v1alpha1.VCenter{Spec: f.vc.Spec}
			other.Name = "other"
			if err := f.Create(t.Context(), other); err != nil {
				t.Fatal(err)
			}
			other.Status.Root = c.other
			if err := f.Status().Update(t.Context(), other); err != nil {
				t.Fatal(err)
			}
			var dialed Config
			dial := f.Dial
			f.Dial = func(c Config, n vsphere.Notifier) Connection { dialed = c; return dial(c, n) }
			f.pass(v1alpha1.ConditionReady)
			if (dialed.Root != nil) != c.kept {
				t.Errorf("the connection is made with root folder %+v", dialed.Root)
			}
		})
	}
}

func TestStatusKeepsTheRootFolderAndSaysWhatIsWrongWithIt(t *testing.T) {
	f := newRefusal(t, good)
	f.connects()
	h := works
	h.SuddenlyEmpty = true
	h.Place = vsphere.Place{InstanceUUID: "expected", Datacenter: "DC0", Folder: "vm-operator", Root: vsphere.FolderRef("group-7")}
	for kind, reason := range map[vsphere.PlaceProblemKind]string{
		vsphere.DatacenterUnclear: v1alpha1.ReasonDatacenterUnclear,
		vsphere.RootRenamed:       v1alpha1.ReasonRootFolderRenamed,
		vsphere.VMsElsewhere:      v1alpha1.ReasonVMsElsewhere,
		"":                        "",
	} {
		h.PlaceProblem = vsphere.PlaceProblem{Kind: kind, Message: "set spec"}
		if kind == "" {
			h.PlaceProblem.Message = ""
		}
		f.dialed[0].becomes(h)
		if told := f.pass(v1alpha1.ConditionPlaceUncertain); told != reason {
			t.Errorf("problem %q is reported as %q", kind, told)
		}
		empty := meta.FindStatusCondition(f.vc.Status.Conditions, v1alpha1.ConditionInventoryComplete).Message
		if accept := strings.Contains(empty, v1alpha1.AcceptEmptyAnnotation); accept == (kind == vsphere.VMsElsewhere) {
			t.Errorf("%q: the empty inventory is explained by %q", kind, empty)
		}
	}
	want := v1alpha1.VCenterRoot{InstanceUUID: "expected", Datacenter: "DC0", Folder: "vm-operator", MoRef: "group-7"}
	if f.vc.Status.Root == nil || *f.vc.Status.Root != want {
		t.Errorf("status keeps %+v", f.vc.Status.Root)
	}
	if before, err := newConfig(f.vc, f.secret); err != nil || before.Root == nil {
		t.Errorf("the next connection gets %+v, %v", before.Root, err)
	} else {
		after := before
		after.Root = nil
		if before.hash() != after.hash() {
			t.Error("what status keeps makes a new connection")
		}
	}
}
