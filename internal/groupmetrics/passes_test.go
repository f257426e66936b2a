package groupmetrics

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/metrics"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func vm(phase v1alpha1.VMPhase, power vsphere.PowerState, edits ...func(*v1alpha1.VMStatus)) v1alpha1.VMStatus {
	is := v1alpha1.VMStatus{Ordinal: 1, MoRef: "vm-1", Phase: phase, PowerState: string(power)}
	for _, edit := range edits {
		edit(&is)
	}
	return is
}

func TestChangesFromOutsideShowInStatus(t *testing.T) {
	const on, off, suspended, unknown = vsphere.PoweredOn, vsphere.PoweredOff, vsphere.Suspended, vsphere.PowerUnknown
	again := func(s *v1alpha1.VMStatus) { s.Incarnation++; s.MoRef = "" }
	updating := func(s *v1alpha1.VMStatus) { s.Updating = true }
	unseen := func(s *v1alpha1.VMStatus) { s.MoRef = "" }
	ready, unhealthy, lost := v1alpha1.VMReady, v1alpha1.VMUnhealthy, v1alpha1.VMLost
	away := []vsphere.VM{{Ref: vsphere.VMRef("vm-1"), Connection: vsphere.Disconnected}}
	for story, c := range map[string]struct {
		was, is  v1alpha1.VMStatus
		deleting []int32
		seen     []vsphere.VM
		want     string
	}{
		"nothing":                            {vm(ready, on), vm(ready, on), nil, nil, ""},
		"not found":                          {vm(ready, on), vm(lost, unknown), nil, nil, "deleted"},
		"still not found":                    {vm(lost, unknown), vm(lost, unknown), nil, nil, ""},
		"replaced after it was not found":    {vm(lost, unknown), vm(v1alpha1.VMCloning, "", again), nil, nil, ""},
		"replaced at once":                   {vm(ready, on), vm(v1alpha1.VMCloning, "", again), nil, nil, "deleted"},
		"another incarnation of no VM":       {vm(v1alpha1.VMCloning, "", unseen), vm(v1alpha1.VMCloning, "", again), nil, nil, ""},
		"deleted by the operator":            {vm(v1alpha1.VMDeleting, off), vm(lost, unknown), []int32{1}, nil, ""},
		"powered off":                        {vm(ready, on), vm(unhealthy, off), nil, nil, "powered_off"},
		"powered off for an update":          {vm(ready, on), vm(unhealthy, off, updating), nil, nil, ""},
		"powered off as spec asks":           {vm(unhealthy, on), vm(v1alpha1.VMStopped, off), nil, nil, ""},
		"suspended":                          {vm(ready, on), vm(unhealthy, suspended), nil, nil, "suspended"},
		"powered on":                         {vm(v1alpha1.VMStopped, off), vm(unhealthy, on), nil, nil, "powered_on"},
		"powered on by a repair":             {vm(unhealthy, off), vm(unhealthy, on), nil, nil, ""},
		"powered on since spec was changed":  {vm(v1alpha1.VMStopped, off), vm(v1alpha1.VMStarting, on), nil, nil, ""},
		"its guest does not answer any more": {vm(ready, on), vm(unhealthy, on), nil, nil, ""},
		"its host does not answer":           {vm(ready, on), vm(unhealthy, on), nil, away, "host_lost"},
		"its host still does not answer":     {vm(unhealthy, on), vm(unhealthy, on), nil, away, ""},
	} {
		old := &v1alpha1.VmGroupStatus{VMs: []v1alpha1.VMStatus{c.was}, Deleting: c.deleting}
		next := &v1alpha1.VmGroupStatus{VMs: []v1alpha1.VMStatus{c.is}}
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		if got := drifts(old, next, c.seen); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", story, got, want)
		}
	}
}

func TestAVMIsTimedFromWhenItIsWantedUntilItIsReadyOnce(t *testing.T) {
	m := newMaking()
	at := func(minutes int, phase v1alpha1.VMPhase) []time.Duration {
		return m.see("c/g", &v1alpha1.VmGroupStatus{VMs: []v1alpha1.VMStatus{{Ordinal: 1, Phase: phase}}}, noon.Add(time.Duration(minutes)*time.Minute))
	}
	for minute, phase := range []v1alpha1.VMPhase{v1alpha1.VMPending, v1alpha1.VMCloning, v1alpha1.VMFailed, v1alpha1.VMCloning, v1alpha1.VMStarting} {
		if took := at(minute, phase); len(took) > 0 {
			t.Errorf("%s took %v", phase, took)
		}
	}
	if took := at(7, v1alpha1.VMReady); !slices.Equal(took, []time.Duration{7 * time.Minute}) {
		t.Errorf("ready took %v", took)
	}
	for minute, phase := range []v1alpha1.VMPhase{v1alpha1.VMUnhealthy, v1alpha1.VMStarting, v1alpha1.VMReady, v1alpha1.VMStopped, v1alpha1.VMStarting, v1alpha1.VMReady} {
		if took := at(10+minute, phase); len(took) > 0 {
			t.Errorf("again %s took %v", phase, took)
		}
	}
	if n := m.groups.Len(); n != 0 {
		t.Errorf("%d groups are remembered", n)
	}
}

// series returns the values of a metric by the values of its labels.
func series(t *testing.T, registry *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name {
				values[labelsOf(m)] = m.GetCounter().GetValue()
			}
		}
	}
	return values
}

func labelsOf(m *dto.Metric) (all string) {
	for _, l := range m.GetLabel() {
		all += l.GetValue() + " "
	}
	return all
}

func TestActionsAreCountedByCauseAndResult(t *testing.T) {
	registry := prometheus.NewRegistry()
	p, err := New(registry)
	if err != nil {
		t.Fatal(err)
	}
	a := plan.Action{Kind: plan.CreateVM, Cause: plan.ForRepair}
	p.Submitted("vc", a, nil)
	p.Submitted("vc", a, errors.New("refused"))
	p.Submitted("vc", a, errors.New("refused"))
	if got := series(t, registry, "vmgroup_actions_total"); len(got) != 2 || got["CreateVM repair accepted vc "] != 1 || got["CreateVM repair refused vc "] != 2 {
		t.Errorf("got %v", got)
	}
	p.Changed("vc", vsphere.ChangeMoved)
	p.Changed("vc", vsphere.ChangeDeleted) // status shows it
	if got := series(t, registry, "vmgroup_drift_total"); got["moved vc "] != 1 || got["deleted vc "] != 0 {
		t.Errorf("got %v", got)
	}
	(*Passes)(nil).Submitted("vc", a, nil)
	(*Passes)(nil).Written("vc", "c/g", &v1alpha1.VmGroupStatus{}, noon)
	(*Passes)(nil).Saw("vc", &v1alpha1.VmGroupStatus{}, &v1alpha1.VmGroupStatus{}, nil)
}

// TestTheFirstStormOfAReplicaIsAnIncrease: the alert for repair storms reads an increase, and Prometheus sees none in a series that appears with its first value.
func TestTheFirstStormOfAReplicaIsAnIncrease(t *testing.T) {
	registry := prometheus.NewRegistry()
	p, err := New(registry)
	if err != nil {
		t.Fatal(err)
	}
	p.Saw("vc", &v1alpha1.VmGroupStatus{}, &v1alpha1.VmGroupStatus{}, nil)
	got := series(t, registry, "vmgroup_drift_total")
	for _, kind := range metrics.DriftKinds {
		if n, there := got[kind+" vc "]; !there || n != 0 {
			t.Errorf("before the first change of kind %s its counter is %g, there: %t", kind, n, there)
		}
	}
}
