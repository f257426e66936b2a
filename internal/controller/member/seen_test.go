package member

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/link"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
)

// TestAReplicaShowsItsOwnViewOfAMember: the status from the leader contains nothing about the connection of another replica.
func TestAReplicaShowsItsOwnViewOfAMember(t *testing.T) {
	is := standing{}
	is.previous.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonEngaged}}
	refused := is
	refused.config = &remote.Problem{Reason: v1alpha1.ReasonKubeconfigNotFound}
	if seen := refused.member("alpha", link.Observation{State: link.Engaged}, true, testNow); seen.Up || seen.Reason != v1alpha1.ReasonKubeconfigNotFound {
		t.Errorf("without a kubeconfig: %+v", seen)
	}
	if seen := is.member("alpha", link.Observation{State: link.Connecting}, true, testNow); seen.Up {
		t.Errorf("while it connects: %+v", seen)
	}
	if seen := is.member("alpha", link.Observation{State: link.Engaged}, true, testNow); !seen.Up || seen.Name != "alpha" ||
		seen.Reason != v1alpha1.ReasonEngaged || seen.Admission != nil || !seen.AllowedUntil.IsZero() {
		t.Errorf("engaged: %+v", seen)
	}
	silent := link.Observation{State: link.Silent, Problem: &remote.Problem{Reason: v1alpha1.ReasonMemberUnreachable}}
	if seen := is.member("alpha", silent, true, testNow); seen.Up || seen.Reason != v1alpha1.ReasonMemberUnreachable {
		t.Errorf("unreachable: %+v", seen)
	}
}

func TestAMemberClusterIsSeenUntilItIsDeleted(t *testing.T) {
	r := controllerOf(t, newFleet())
	r.note(&v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "alpha"}}, nil, nil)
	if all := r.Seen(); len(all) != 1 || all[0].Name != "alpha" || all[0].Up {
		t.Errorf("saw %+v", all)
	}
	r.forget("alpha")
	if all := r.Seen(); len(all) > 0 {
		t.Errorf("after the MemberCluster was deleted: %+v", all)
	}
}

func TestASwitchedOffBreakerIsSeenUntilItsTime(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	p, err := link.NewProvider(settings.Options{Namespace: "operator", InstallationUID: "one", Fleet: newFleet(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	until := now.Add(30 * time.Minute)
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "alpha", Annotations: map[string]string{
		v1alpha1.AllowMassDeletionAnnotation: until.Format(time.RFC3339),
	}}}
	r := New(nil, nil, nil, p)
	r.note(mc, nil, nil)
	if got := r.Seen()[0].AllowedUntil; !got.Equal(until) {
		t.Errorf("switched off until %s", got)
	}
	now = until
	if got := r.Seen()[0].AllowedUntil; !got.IsZero() {
		t.Errorf("after the time it is switched off until %s", got)
	}
}
