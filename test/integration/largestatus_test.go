//go:build unix

package integration

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// The status of a large group is sent in parts, and a part that hits another VM would give it the identity of another.
func TestTheChangeOfOneVMOfALargeGroupIsASmallWrite(t *testing.T) {
	const vms, changed, most = 24, 20, 2000
	w := calm.enter(t)
	p := newPlace(t, w, "team-a", "large")
	p.apply(p.group("vg", vms))
	status := p.untilRunning("vg", vms).Status
	writes := func() []localcluster.APIRecord {
		return slices.DeleteFunc(p.cluster.Proxy.Records(), func(r localcluster.APIRecord) bool {
			return r.Resource != "vmgroups" || r.Subresource != "status" || r.Namespace != p.namespace
		})
	}
	before := len(writes())
	if err := w.Person.PowerOff(t.Context(), fmt.Sprintf("%s/vg-%d", status.Folder.Path, changed)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := await.Condition(ctx, "the change of the VM in status", func(context.Context) (bool, error) {
		return slices.ContainsFunc(writes()[before:], func(r localcluster.APIRecord) bool {
			return strings.Contains(string(r.Body), fmt.Sprintf("/status/vms/%d", changed))
		}), nil
	}); err != nil {
		t.Fatal(err)
	}
	now := p.untilRunning("vg", vms).Status
	for _, r := range writes()[before:] {
		if kind := r.Header.Get("Content-Type"); kind != string(types.JSONPatchType) || len(r.Body) > most || r.Status != 0 && r.Status != http.StatusOK { // 0 is one in progress
			t.Errorf("a write of type %s has %d bytes, want %d at most, and was answered with %d: %s", kind, len(r.Body), most, r.Status, r.Body)
		}
	}
	for i, vm := range now.VMs {
		if was := status.VMs[i]; vm.Name != was.Name || vm.UUID != was.UUID || vm.MoRef != was.MoRef {
			t.Errorf("VM %d is %s (%s, %s) now, was %s (%s, %s)", i, vm.Name, vm.UUID, vm.MoRef, was.Name, was.UUID, was.MoRef)
		}
	}
}
