package callmetrics

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/codeconnect/vmgroup-operator/internal/metrics"
	"github.com/codeconnect/vmgroup-operator/internal/metrics/metricstest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
)

func TestRequestsAreCountedAndTimed(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	calls, err := New(registry)
	if err != nil {
		t.Fatal(err)
	}
	m := calls.Of("vc")
	m.Sent("CurrentTime", session.CodeOK, time.Second)
	m.Sent("CloneVM_Task", session.CodeFault, time.Second)
	m.Sent("CloneVM_Task", session.CodeFenced, 0)
	m.Sent("WaitForUpdatesEx", session.CodeOK, time.Minute)
	m.Took(vsphere.OpPowerOff, time.Second)
	m.Took(vsphere.OpRename, time.Second)
	want := map[string]float64{
		`vmgroup_vcenter_requests_total{code="ok",method="CurrentTime",vcenter="vc"}`:      1,
		`vmgroup_vcenter_requests_total{code="fault",method="CloneVM_Task",vcenter="vc"}`:  1,
		`vmgroup_vcenter_requests_total{code="fenced",method="CloneVM_Task",vcenter="vc"}`: 1,
		`vmgroup_vcenter_requests_total{code="ok",method="WaitForUpdatesEx",vcenter="vc"}`: 1,
		`vmgroup_vcenter_request_duration_seconds{class="read",vcenter="vc"}`:              1,
		`vmgroup_vcenter_request_duration_seconds{class="change",vcenter="vc"}`:            1,
		`vmgroup_vcenter_task_duration_seconds{kind="power",vcenter="vc"}`:                 1,
		`vmgroup_vcenter_task_duration_seconds{kind="reconfigure",vcenter="vc"}`:           1,
	}
	if got := metricstest.Gather(t, registry); !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// The label values are those in the definitions of the metrics.
func TestLabelsAreThoseOfTheDefinitions(t *testing.T) {
	found := slices.Sorted(maps.Values(kinds))
	if want := slices.Sorted(slices.Values(metrics.TaskKinds)); !slices.Equal(slices.Compact(found), want) {
		t.Errorf("kinds %v, want %v", found, want)
	}
	codes := make([]string, 0, len(metrics.RequestCodes))
	for _, code := range []session.Code{
		session.CodeOK, session.CodeFault, session.CodeUnauthenticated, session.CodeTimeout, session.CodeTransport, session.CodeFenced,
	} {
		codes = append(codes, string(code))
	}
	if !slices.Equal(codes, metrics.RequestCodes) {
		t.Errorf("codes %v, want %v", codes, metrics.RequestCodes)
	}
}
