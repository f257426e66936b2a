package member

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/link"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

var testNow = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

func engagedObservation() link.Observation {
	return link.Observation{
		State: link.Engaged, ClusterUID: "uid", KubernetesVersion: "v1.36.3", CRDVersion: "1",
		Claim:       &install.Finding{OK: true, Reason: v1alpha1.ReasonClaimed, Message: "ours"},
		CRD:         &install.Finding{OK: true, Reason: v1alpha1.ReasonCRDInstalled, Message: "fine"},
		LastContact: testNow.Add(-time.Second),
	}
}

func TestComputeStatus(t *testing.T) {
	engaged, _ := computeStatus(statusInput{generation: 1, clusterUID: "uid", seen: engagedObservation(), now: testNow})
	refusedStatus, _ := computeStatus(statusInput{generation: 1, clusterUID: "uid", previous: engaged, now: testNow,
		config: &remote.Problem{Reason: v1alpha1.ReasonKubeconfigRefused, Message: "exec"}})
	change := func(f func(*link.Observation)) link.Observation {
		seen := engagedObservation()
		f(&seen)
		return seen
	}
	tests := []struct {
		name       string
		in         statusInput
		ready      metav1.ConditionStatus
		reason     string
		claimed    metav1.ConditionStatus
		crd        metav1.ConditionStatus
		transition bool
	}{
		{"first look", statusInput{}, metav1.ConditionUnknown, v1alpha1.ReasonConnecting, metav1.ConditionUnknown, metav1.ConditionUnknown, true},
		{"engaged", statusInput{seen: engagedObservation()}, metav1.ConditionTrue, v1alpha1.ReasonEngaged, metav1.ConditionTrue, metav1.ConditionTrue, true},
		{"still engaged", statusInput{previous: engaged, seen: engagedObservation()}, metav1.ConditionTrue, v1alpha1.ReasonEngaged, metav1.ConditionTrue, metav1.ConditionTrue, false},
		{"operator restarted", statusInput{previous: engaged}, metav1.ConditionTrue, v1alpha1.ReasonEngaged, metav1.ConditionTrue, metav1.ConditionTrue, false},
		{"connecting with a replaced kubeconfig", statusInput{previous: refusedStatus}, metav1.ConditionUnknown, v1alpha1.ReasonConnecting, metav1.ConditionTrue, metav1.ConditionTrue, true},
		{"kubeconfig refused", statusInput{previous: engaged, config: &remote.Problem{Reason: v1alpha1.ReasonKubeconfigRefused}}, metav1.ConditionFalse, v1alpha1.ReasonKubeconfigRefused, metav1.ConditionTrue, metav1.ConditionTrue, true},
		{"silent while engaged", statusInput{previous: engaged, seen: change(func(o *link.Observation) {
			o.State, o.Problem = link.Silent, &remote.Problem{Reason: v1alpha1.ReasonMemberUnreachable}
		})}, metav1.ConditionFalse, v1alpha1.ReasonMemberUnreachable, metav1.ConditionTrue, metav1.ConditionTrue, true},
		{"unreachable after a restart keeps what was known", statusInput{previous: engaged, seen: link.Observation{
			State: link.Refused, Problem: &remote.Problem{Reason: v1alpha1.ReasonMemberUnreachable},
		}}, metav1.ConditionFalse, v1alpha1.ReasonMemberUnreachable, metav1.ConditionTrue, metav1.ConditionTrue, true},
		{"claim lost", statusInput{previous: engaged, seen: change(func(o *link.Observation) {
			o.State, o.Problem = link.Refused, &remote.Problem{Reason: v1alpha1.ReasonClaimedByAnotherHub}
			o.Claim = &install.Finding{OK: false, Reason: v1alpha1.ReasonClaimedByAnotherHub, Message: "theirs"}
		})}, metav1.ConditionFalse, v1alpha1.ReasonClaimedByAnotherHub, metav1.ConditionFalse, metav1.ConditionTrue, true},
		{"the kubeconfig leads to another cluster", statusInput{previous: engaged, seen: link.Observation{
			State: link.Refused, ClusterUID: "other",
			Problem: &remote.Problem{Reason: v1alpha1.ReasonAnotherCluster},
		}}, metav1.ConditionFalse, v1alpha1.ReasonAnotherCluster, metav1.ConditionTrue, metav1.ConditionTrue, true},
		{"CRD lost while engaged", statusInput{previous: engaged, seen: change(func(o *link.Observation) {
			o.CRD = &install.Finding{OK: false, Reason: v1alpha1.ReasonCRDMissing, Message: "gone"}
		})}, metav1.ConditionFalse, v1alpha1.ReasonCRDMissing, metav1.ConditionTrue, metav1.ConditionFalse, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.in.generation, test.in.now, test.in.clusterUID = 2, testNow.Add(time.Hour), test.in.previous.ClusterUID
			status, transition := computeStatus(test.in)
			ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
			if ready.Status != test.ready || ready.Reason != test.reason {
				t.Errorf("Ready = %+v", ready)
			}
			judged := int64(2)
			if test.in.seen.State == "" && !test.transition {
				judged = 1 // the effect of the new generation is not known yet
			}
			if ready.ObservedGeneration != judged || status.ObservedGeneration != judged {
				t.Errorf("Ready is of generation %d and status of %d, want %d", ready.ObservedGeneration, status.ObservedGeneration, judged)
			}
			if transition != test.transition {
				t.Errorf("transition = %v", transition)
			}
			for condition, want := range map[string]metav1.ConditionStatus{
				v1alpha1.ConditionClaimed: test.claimed, v1alpha1.ConditionCRDInstalled: test.crd,
			} {
				if got := meta.FindStatusCondition(status.Conditions, condition); got == nil || got.Status != want {
					t.Errorf("%s = %+v, want %s", condition, got, want)
				}
			}
			if test.in.previous.ClusterUID != "" && (status.ClusterUID != "uid" || status.CRDVersion != "1") {
				t.Errorf("identity and versions must survive: %+v", status)
			}
			again, transition := computeStatus(statusInput{generation: 2, clusterUID: status.ClusterUID, previous: status, config: test.in.config, seen: test.in.seen, now: testNow.Add(2 * time.Hour)})
			if transition || !equality.Semantic.DeepEqual(status, again) {
				t.Errorf("a second look changes status:\n%+v\n%+v", status, again)
			}
		})
	}
}

func TestComputeStatusWritesContactOnTransitionsOnly(t *testing.T) {
	first, _ := computeStatus(statusInput{seen: engagedObservation(), now: testNow})
	if first.LastContactTime == nil {
		t.Fatal("no contact time")
	}
	later := engagedObservation()
	later.LastContact = testNow.Add(time.Hour)
	second, _ := computeStatus(statusInput{previous: first, seen: later, counts: &counts{groups: 2, vms: 5}, now: testNow})
	if !second.LastContactTime.Equal(first.LastContactTime) {
		t.Error("the contact time is not a heartbeat")
	}
	if second.Groups != 2 || second.VMs != 5 {
		t.Errorf("counts = %d, %d", second.Groups, second.VMs)
	}
	later.State, later.Problem = link.Silent, &remote.Problem{Reason: v1alpha1.ReasonMemberUnreachable}
	third, _ := computeStatus(statusInput{previous: second, seen: later, now: testNow})
	if !third.LastContactTime.Time.Equal(later.LastContact.Truncate(time.Second)) {
		t.Errorf("contact = %s, want the last answer", third.LastContactTime)
	}
	if third.Groups != 2 || third.VMs != 5 {
		t.Error("an unreachable member did not lose its groups")
	}
}

func TestWhatAMemberSaysIsShownHarmless(t *testing.T) {
	seen := engagedObservation()
	seen.CRDVersion = "1\x1b[2J" + strings.Repeat("x", 10_000)
	seen.Claim = &install.Finding{Reason: v1alpha1.ReasonClaimedByAnotherHub, Message: "of \u202eothers\n" + strings.Repeat("x", 100_000)}
	status, _ := computeStatus(statusInput{generation: 1, clusterUID: "uid", seen: seen, now: testNow})
	claimed := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionClaimed)
	if !strings.HasPrefix(claimed.Message, "of �others x") || len(claimed.Message) > maxMessage {
		t.Errorf("Claimed has %d bytes: %.40q", len(claimed.Message), claimed.Message)
	}
	if !strings.HasPrefix(status.CRDVersion, "1�[2Jx") || len(status.CRDVersion) > maxVersion {
		t.Errorf("crdVersion is %q", status.CRDVersion)
	}
}

func TestStatusReportsWhenCredentialsExpire(t *testing.T) {
	held := []credential.Held{{Identity: credential.Member, Namespace: "operator", Secret: "alpha", Key: "kubeconfig", Expires: testNow.Add(time.Hour)}}
	in := statusInput{name: "alpha", generation: 1, clusterUID: "uid", seen: engagedObservation(), held: held, now: testNow}
	status, _ := computeStatus(in)
	valid := func() *metav1.Condition {
		return meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionCredentialsValid)
	}
	if c := valid(); c == nil || c.Reason != v1alpha1.ReasonUserManaged || status.Credentials == nil || status.Credentials.Member == nil {
		t.Fatalf("with a credential for an hour: %+v, %+v", c, status.Credentials)
	}
	in.previous, in.now = status, testNow.Add(2*time.Hour)
	if status, _ = computeStatus(in); valid().Reason != v1alpha1.ReasonCredentialsExpired || !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("two hours later: %+v", status.Conditions)
	}
	in.previous, in.held, in.config = status, nil, &remote.Problem{Reason: v1alpha1.ReasonKubeconfigNotFound, Message: "no Secret"}
	if status, _ = computeStatus(in); valid().Status != metav1.ConditionUnknown || valid().Reason != v1alpha1.ReasonKubeconfigNotFound || status.Credentials != nil {
		t.Errorf("without its Secret: %+v, %+v", valid(), status.Credentials)
	}
	local, _ := computeStatus(statusInput{name: v1alpha1.LocalMember, generation: 1, clusterUID: "uid", seen: engagedObservation(), now: testNow})
	if meta.FindStatusCondition(local.Conditions, v1alpha1.ConditionCredentialsValid) != nil {
		t.Errorf("the hub has %+v", local.Conditions)
	}
}
