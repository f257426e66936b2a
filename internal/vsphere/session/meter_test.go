package session_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// noted records requests as the session counts them.
type noted struct {
	mu  sync.Mutex
	all []string
}

func (n *noted) Sent(method string, code session.Code, _ time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, method+" "+string(code))
}

// TestEachRequestIsCountedWithItsOutcome, including logins, logouts and requests that the fence
// stops, but not those that the caller canceled.
func TestEachRequestIsCountedWithItsOutcome(t *testing.T) {
	_, proxy := start(t, sim.Options{})
	var meter noted
	cfg := config(proxy.URL)
	cfg.Meter = &meter
	s, err := session.Open(t.Context(), cfg)
	must(t, err)
	must(t, serverTime(t.Context(), s))
	gone := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-0"}
	if _, err := methods.Destroy_Task(vsphere.WithFence(t.Context(), func() error { return nil }), s.Client(), &types.Destroy_Task{This: gone}); err == nil {
		t.Fatal("a VM that does not exist was destroyed")
	}
	if _, err := methods.Destroy_Task(t.Context(), s.Client(), &types.Destroy_Task{This: gone}); vsphere.KindOf(err) != vsphere.KindFenced {
		t.Fatalf("without a fence: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := serverTime(canceled, s); err == nil {
		t.Fatal("a canceled request succeeded")
	}
	must(t, s.Close(context.Background()))
	want := []string{"Login ok", "CurrentTime ok", "Destroy_Task fault", "Destroy_Task fenced", "Logout ok"}
	if !slices.Equal(meter.all, want) {
		t.Errorf("counted %q, want %q", meter.all, want)
	}
}
