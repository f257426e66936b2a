package membermetrics_test

import (
	"maps"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/membermetrics"
	"github.com/codeconnect/vmgroup-operator/internal/metrics/metricstest"
)

type seen []membermetrics.Member

func (s seen) Seen() []membermetrics.Member { return s }

type leads bool

func (l leads) Leading() bool { return bool(l) }

func TestEachReplicaReportsItsViewAndTheLeaderAdmission(t *testing.T) {
	ready, not := true, false
	all := seen{
		{Name: "m-1", Up: true, Reason: "Engaged", Admission: &ready},
		{Name: "m-2", Reason: "MemberUnreachable", Admission: &not, AllowedUntil: time.Unix(1000, 0), Expires: time.Unix(2000, 0), Identity: "bootstrap"},
		{Name: "m-3", Reason: "Connecting"},
	}
	want := map[string]float64{
		`vmgroup_member_up{member="m-1"}`:                                                           1,
		`vmgroup_member_up{member="m-2"}`:                                                           0,
		`vmgroup_member_up{member="m-3"}`:                                                           0,
		`vmgroup_member_status{member="m-2",reason="MemberUnreachable"}`:                            1,
		`vmgroup_member_status{member="m-3",reason="Connecting"}`:                                   1,
		`vmgroup_mass_deletion_allowed_until_timestamp_seconds{member="m-2"}`:                       1000,
		`vmgroup_member_credential_expiration_timestamp_seconds{identity="bootstrap",member="m-2"}`: 2000,
	}
	if got := metricstest.Collected(t, membermetrics.Collector{Members: all, Leader: leads(false), Served: "Engaged"}); !maps.Equal(got, want) {
		t.Errorf("a replica that does not lead reports %v", got)
	}
	want[`vmgroup_member_admission_ready{member="m-1"}`], want[`vmgroup_member_admission_ready{member="m-2"}`] = 1, 0
	if got := metricstest.Collected(t, membermetrics.Collector{Members: all, Leader: leads(true), Served: "Engaged"}); !maps.Equal(got, want) {
		t.Errorf("the leader reports %v", got)
	}
}
