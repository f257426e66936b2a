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
