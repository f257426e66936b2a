package member

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/membermetrics"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
)

// TestAReplicaShowsItsOwnViewOfAMember: what the leader wrote into status says nothing about the connection of another replica.
func TestAReplicaShowsItsOwnViewOfAMember(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	p, err := NewProvider(settings.Options{Namespace: "operator", InstallationUID: "one", Fleet: newFleet(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "alpha"}}
	mc.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonEngaged}}
	only := func() membermetrics.Member {
		t.Helper()
		all := p.Seen()
		if len(all) != 1 || all[0].Name != "alpha" {
			t.Fatalf("saw %+v", all)
		}
		return all[0]
	}
	p.note(mc, &remote.Problem{Reason: v1alpha1.ReasonKubeconfigNotFound})
	if is := only(); is.Up || is.Reason != v1alpha1.ReasonKubeconfigNotFound {
		t.Errorf("without a kubeconfig: %+v", is)
	}
	c := newConnection(p, settings.Target{Name: "alpha"}, nil)
	p.connections["alpha"] = c
	p.note(mc, nil)
	if is := only(); is.Up {
		t.Errorf("while it connects: %+v", is)
	}
	c.seen.phase = phaseEngaged
	if is := only(); !is.Up || is.Reason != v1alpha1.ReasonEngaged || is.Admission != nil || !is.AllowedUntil.IsZero() {
		t.Errorf("engaged: %+v", is)
	}
	c.seen.problem = &remote.Problem{Reason: v1alpha1.ReasonMemberUnreachable}
	if is := only(); is.Up || is.Reason != v1alpha1.ReasonMemberUnreachable {
		t.Errorf("unreachable: %+v", is)
	}
	p.forget("alpha")
	if all := p.Seen(); len(all) > 0 {
		t.Errorf("after the MemberCluster was deleted: %+v", all)
	}
}

func TestASwitchedOffBreakerIsSeenUntilItsTime(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	p, err := NewProvider(settings.Options{Namespace: "operator", InstallationUID: "one", Fleet: newFleet(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	until := now.Add(30 * time.Minute)
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "alpha", Annotations: map[string]string{
		v1alpha1.AllowMassDeletionAnnotation: until.Format(time.RFC3339),
	}}}
	p.note(mc, nil)
	if got := p.Seen()[0].AllowedUntil; !got.Equal(until) {
		t.Errorf("switched off until %s", got)
	}
	now = until
	if got := p.Seen()[0].AllowedUntil; !got.IsZero() {
		t.Errorf("after the time it is switched off until %s", got)
	}
}
