package vcenter

import (
	"errors"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vcenter/vcentermetrics"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// TestAReplicaThatDoesNotLeadShowsItsOwnView: an alert compares the views of all replicas, so a replica cannot show the leader's view.
func TestAReplicaThatDoesNotLeadShowsItsOwnView(t *testing.T) {
	vc := vcenterForTest()
	vc.Finalizers = []string{v1alpha1.VCenterFinalizer}
	r := newReplica(t, newHub(t, vc), false)
	only := func() vcentermetrics.VCenter {
		t.Helper()
		all := r.Seen()
		if len(all) != 1 || all[0].Name != "default" {
			t.Fatalf("saw %+v", all)
		}
		return all[0]
	}
	r.pass()
	if is := only(); is.Reachable || is.Load != nil || is.Reason != v1alpha1.ReasonConnecting {
		t.Errorf("before the connection serves: %+v", is)
	}
	r.connection.becomes(vsphere.Health{Reachable: true, Complete: true, VMs: 3, InstanceUUID: "uuid"})
	r.pass()
	r.pass()
	if is := only(); !is.Reachable || !is.Complete || is.VMs != 3 || is.Load == nil || is.Reason != v1alpha1.ReasonConnected {
		t.Errorf("connected: %+v", is)
	}
	r.connection.becomes(vsphere.Health{Complete: true, Err: &vsphere.Error{Kind: vsphere.KindTransient, Err: errors.New("no route")}})
	r.pass()
	if is := only(); is.Reachable || is.Complete || is.Reason != v1alpha1.ReasonUnreachable {
		t.Errorf("unreachable: %+v", is)
	}
	r.forget("default")
	if all := r.Seen(); len(all) != 0 {
		t.Errorf("after the VCenter was deleted: %+v", all)
	}
}
