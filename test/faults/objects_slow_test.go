//go:build unix && slow

package faults

import (
	"context"
	"path"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func (w *world) patch(t *testing.T, c *stack.Cluster, object client.Object, patch string) {
	t.Helper()
	if err := c.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

func groupObject(name string) *v1alpha1.VmGroup {
	return &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// vmsOf are the paths of the VMs of a group in the first vCenter.
func (w *world) vmsOf(t *testing.T, group string) (paths []string) {
	t.Helper()
	vms, err := w.Person.VMs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name := range vms {
		if strings.HasPrefix(path.Base(name), group+"-") {
			paths = append(paths, name)
		}
	}
	if len(paths) == 0 {
		t.Fatalf("group %s has no VM", group)
	}
	return paths
}

// orphan removes a finalizer by hand: the VM of the group stays.
func orphan(t *testing.T, w *world) {
	w.apply(t, "lost", 1)
	w.running(t, "lost", 1)
	w.Members[member].Proxy.StallWatches(true)
	w.remove(t, "lost")
	w.patch(t, w.Members[member], groupObject("lost"), `{"metadata":{"finalizers":null}}`)
	w.Members[member].Proxy.StallWatches(false)
	w.Members[member].Proxy.CutWatches()
	w.reports(t, 1, "vmgroup_orphaned_vms")
}

func orphanRemoved(t *testing.T, w *world) {
	for _, vm := range w.vmsOf(t, "lost") {
		if err := w.Person.Destroy(t.Context(), vm); err != nil {
			t.Fatal(err)
		}
	}
}

func quotaExhausted(t *testing.T, w *world) {
	vms := int32(groupVMs + secondVMs)
	if err := w.Hub.Create(t.Context(), &v1alpha1.VmGroupPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: v1alpha1.VmGroupPolicySpec{
			Match: v1alpha1.PolicyMatch{NamespaceSelector: &metav1.LabelSelector{}},
			Quota: &v1alpha1.PolicyQuota{Scope: v1alpha1.QuotaMatch, VMs: &vms},
		},
	}); err != nil {
		t.Fatal(err)
	}
	w.until(t, "the quota to be used up", func(ctx context.Context) (bool, error) {
		used, hard := w.reported(ctx, "vmgroup_quota_used", `resource="vms"`), w.reported(ctx, "vmgroup_quota_hard", `resource="vms"`)
		return hard > 0 && used == hard, nil
	})
}

func quotaRaised(t *testing.T, w *world) {
	w.patch(t, w.Hub, &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, `{"spec":{"quota":{"vms":100}}}`)
	w.until(t, "the quota to be raised", func(ctx context.Context) (bool, error) {
		return w.reported(ctx, "vmgroup_quota_hard", `resource="vms"`) >= 100, nil
	})
}

// certificateChanged: the operator expects another certificate than the one that vCenter has.
func certificateChanged(t *testing.T, w *world) {
	w.patch(t, w.Hub, &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: second}},
		`{"spec":{"tls":{"caBundle":null,"thumbprint":"`+strings.Repeat("AB:", 31)+`AB"}}}`)
	w.reports(t, 2, "vmgroup_vcenter_status", `reason="CertificateRefused"`)
}

func certificateAccepted(t *testing.T, w *world) {
	vcenter := &v1alpha1.VCenter{}
	if err := w.Hub.Get(t.Context(), types.NamespacedName{Name: second}, vcenter); err != nil {
		t.Fatal(err)
	}
	vcenter.Spec.TLS = &v1alpha1.TLSConfig{CABundle: string(w.second.CA)}
	if err := w.Hub.Update(t.Context(), vcenter); err != nil {
		t.Fatal(err)
	}
}

// rootEmptied: vCenter returns with an inventory that has none of the operator's objects, as after a restore of an
// old backup.
func rootEmptied(t *testing.T, w *world) {
	w.Sim.Kill()
	again, err := w.StartVCenter(t.Context(), "vcsim", sim.Options{Templates: []string{template}, CloneDelay: cloneDelay, Listen: w.Sim.Address()})
	if err != nil {
		t.Fatal(err)
	}
	w.Sim = again
	w.reports(t, 2, "vmgroup_vcenter_status", `reason="InventorySuddenlyEmpty"`)
	w.calm(t, "default")
}

// calm waits until no call to a vCenter has failed for a while: calls that its restart broke do not represent the
// later state.
func (w *world) calm(t *testing.T, vcenter string) {
	t.Helper()
	const requests = "vmgroup_vcenter_requests_total"
	last, since := -1.0, time.Now()
	w.until(t, "calls to vCenter "+vcenter+" to succeed", func(ctx context.Context) (bool, error) {
		of := `vcenter="` + vcenter + `"`
		if failed := w.reported(ctx, requests, of) - w.reported(ctx, requests, of, `code="ok"`); failed != last {
			last, since = failed, time.Now()
		}
		return time.Since(since) >= apart, nil
	})
}

// rootBack: a user confirms that the inventory is right, and the operator recreates the VMs.
func rootBack(t *testing.T, w *world) {
	vcenter := &v1alpha1.VCenter{}
	if err := w.Hub.Get(t.Context(), types.NamespacedName{Name: "default"}, vcenter); err != nil {
		t.Fatal(err)
	}
	const drift, deleted = "vmgroup_drift_total", `kind="deleted"`
	before := w.reported(t.Context(), drift, deleted)
	w.patch(t, w.Hub, vcenter, `{"metadata":{"annotations":{"vm.codeconnect.vmworld.com/accept-empty-inventory":"`+vcenter.Status.InstanceUUID+`"}}}`)
	// Until its next pass, a group has the state that it had before.
	w.reports(t, before+groupVMs, drift, deleted)
}

func tasksStuck(t *testing.T, w *world) {
	w.release = w.second.HoldPowerOn("db-3", "")
	w.patch(t, w.Members[member], groupObject(secondGroup), `{"spec":{"replicas":4}}`)
	w.until(t, "a task to run", func(ctx context.Context) (bool, error) {
		return w.reported(ctx, "vmgroup_vcenter_task_oldest_seconds") > 3, nil
	})
}

func tasksGoOn(t *testing.T, w *world) {
	w.release()
	w.running(t, secondGroup, secondVMs+1)
	w.patch(t, w.Members[member], groupObject(secondGroup), `{"spec":{"replicas":3}}`)
}

func webhookCertificate() *unstructured.Unstructured {
	certificate := &unstructured.Unstructured{}
	certificate.SetGroupVersionKind(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"})
	certificate.SetNamespace(stack.Namespace)
	certificate.SetName(stack.WebhookCertificate)
	return certificate
}

const expiration = "vmgroup_admission_serving_certificate_expiration_timestamp_seconds"

// webhookCertificateExpires makes cert-manager issue a certificate that is valid for an hour.
func webhookCertificateExpires(t *testing.T, w *world) {
	before := w.reported(t.Context(), expiration)
	w.patch(t, w.Hub, webhookCertificate(), `{"spec":{"duration":"1h","renewBefore":"5m"}}`)
	w.until(t, "a certificate that expires soon", func(ctx context.Context) (bool, error) {
		now := w.reported(ctx, expiration)
		return now > 0 && now < before-2*80*24*3600, nil
	})
}

func webhookCertificateRenewed(t *testing.T, w *world) {
	before := w.reported(t.Context(), expiration)
	w.patch(t, w.Hub, webhookCertificate(), `{"spec":{"duration":"2160h","renewBefore":"720h"}}`)
	w.until(t, "a certificate that is valid for long", func(ctx context.Context) (bool, error) {
		return w.reported(ctx, expiration) > before+2*80*24*3600, nil
	})
}
