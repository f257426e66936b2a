package credential

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestConditionOfCredentials(t *testing.T) {
	of := func(identity string, expires time.Time) Held {
		return Held{Identity: identity, Namespace: "operator", Secret: "team-a-" + identity, Key: "kubeconfig", Expires: expires}
	}
	soon, later, past := noon.Add(time.Hour), noon.Add(48*time.Hour), noon.Add(-time.Hour)
	for story, test := range map[string]struct {
		all     []Held
		status  metav1.ConditionStatus
		reason  string
		words   []string
		changes time.Time
	}{
		"unknown": {[]Held{of(Member, time.Time{})}, metav1.ConditionTrue, v1alpha1.ReasonUserManaged, []string{"no expiry that the operator can read"}, time.Time{}},
		"the first of two": {
			[]Held{of(Member, later), of(Bootstrap, soon)}, metav1.ConditionTrue, v1alpha1.ReasonUserManaged,
			[]string{`Secret "team-a-bootstrap", key "kubeconfig", expires at 2026-03-01T13:00:00Z`, "kubectl patch secret team-a-bootstrap -n operator -p"}, soon,
		},
		"one of two is unknown": {[]Held{of(Member, time.Time{}), of(Bootstrap, later)}, metav1.ConditionTrue, v1alpha1.ReasonUserManaged, []string{"2026-03-03T12:00:00Z"}, later},
		"expired": {
			[]Held{of(Member, past), of(Bootstrap, later)}, metav1.ConditionFalse, v1alpha1.ReasonCredentialsExpired,
			[]string{`Secret "team-a-member", key "kubeconfig", expired at 2026-03-01T11:00:00Z`, "kubectl patch secret team-a-member"}, time.Time{},
		},
		"expires at this moment": {[]Held{of(Member, noon)}, metav1.ConditionFalse, v1alpha1.ReasonCredentialsExpired, []string{"expired at 2026-03-01T12:00:00Z"}, time.Time{}},
	} {
		t.Run(story, func(t *testing.T) {
			got := Condition(test.all, Attempts{}, noon)
			if got.Type != v1alpha1.ConditionCredentialsValid || got.Status != test.status || got.Reason != test.reason {
				t.Errorf("got %+v", got)
			}
			for _, words := range test.words {
				if !strings.Contains(got.Message, words) {
					t.Errorf("message %q lacks %q", got.Message, words)
				}
			}
			if at := Changes(test.all, noon); !at.Equal(test.changes) {
				t.Errorf("changes at %s, want %s", at, test.changes)
			}
		})
	}
}

func TestTheNextExpiryIsReportedAMonthAhead(t *testing.T) {
	all := []Held{{Identity: Member, Expires: noon.Add(40 * 24 * time.Hour)}, {Identity: Bootstrap, Expires: noon.Add(31 * 24 * time.Hour)}}
	if next := Next(all, noon); next != nil {
		t.Errorf("31 days ahead: %+v", next)
	}
	if next := Next(all, noon.Add(2*24*time.Hour)); next == nil || next.Identity != Bootstrap {
		t.Errorf("29 days ahead: %+v", next)
	}
	if next := Next(all, noon.Add(99*24*time.Hour)); next == nil || next.Identity != Bootstrap {
		t.Errorf("after the expiry: %+v", next)
	}
}

func TestStatusHasCredentialsWithAKnownExpiry(t *testing.T) {
	if got := Status([]Held{{Identity: Member}}); got != nil {
		t.Errorf("got %+v", got)
	}
	got := Status([]Held{{Identity: Member}, {Identity: Bootstrap, Expires: noon}})
	if got == nil || got.Member != nil || got.Bootstrap == nil || !got.Bootstrap.ExpirationTime.Time.Equal(noon) {
		t.Errorf("got %+v", got)
	}
}

func TestConditionOfRenewedTokens(t *testing.T) {
	of := func(identity string, expires time.Time) Held {
		return Held{MemberCluster: "team-a", Identity: identity, Namespace: "operator", Secret: "team-a", Key: identity, Expires: expires, Account: "ns/" + identity, Renews: expires.Add(-time.Hour)}
	}
	soon, later, past := noon.Add(time.Hour), noon.Add(48*time.Hour), noon.Add(-time.Hour)
	for story, test := range map[string]struct {
		all      []Held
		attempts Attempts
		status   metav1.ConditionStatus
		reason   string
		words    []string
	}{
		"renewed": {
			[]Held{of(Member, later), of(Bootstrap, soon)}, Attempts{}, metav1.ConditionTrue, v1alpha1.ReasonRenewed, []string{"ns/bootstrap, expires at 2026-03-01T13:00:00Z"},
		},
		"a renewal fails": {
			[]Held{of(Member, later), of(Bootstrap, later)}, Attempts{Failed: map[string]string{Bootstrap: "It says no."}}, metav1.ConditionTrue, v1alpha1.ReasonRenewalFails,
			[]string{"token of ServiceAccount ns/bootstrap, which expires at 2026-03-03T12:00:00Z", "It says no."},
		},
		"expired": {
			[]Held{of(Member, later), of(Bootstrap, past)}, Attempts{Failed: map[string]string{Bootstrap: "It says no."}}, metav1.ConditionFalse, v1alpha1.ReasonCredentialsExpired,
			[]string{"ns/bootstrap expired at 2026-03-01T11:00:00Z", "kubectl patch secret team-a -n operator"},
		},
		"revoked": {
			[]Held{of(Member, later), of(Bootstrap, later)}, Attempts{Rejected: true}, metav1.ConditionFalse, v1alpha1.ReasonCredentialsRevoked,
			[]string{"does not accept the token of ServiceAccount ns/member", "kubectl vmgroup member join team-a --member-context CONTEXT. ", "kubectl patch secret team-a -n operator"},
		},
		"expired, and so rejected": {[]Held{of(Member, past)}, Attempts{Rejected: true}, metav1.ConditionFalse, v1alpha1.ReasonCredentialsExpired, []string{"before the operator could renew it"}},
	} {
		t.Run(story, func(t *testing.T) {
			got := Condition(test.all, test.attempts, noon)
			if got.Status != test.status || got.Reason != test.reason {
				t.Errorf("got %+v", got)
			}
			for _, words := range test.words {
				if !strings.Contains(got.Message, words) {
					t.Errorf("message %q lacks %q", got.Message, words)
				}
			}
		})
	}
}

func TestARenewedTokenIsReportedOnceItsRenewalIsOverdue(t *testing.T) {
	all := []Held{{Identity: Member, Expires: noon.Add(24 * time.Hour), Account: "ns/a", Renews: noon}}
	if next := Next(all, noon.Add(9*time.Minute)); next != nil {
		t.Errorf("9 minutes late: %+v", next)
	}
	if next := Next(all, noon.Add(10*time.Minute)); next == nil {
		t.Error("10 minutes late: it is not reported")
	}
}
