package credential

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Names of the identities, also the label values of metrics.
const (
	// Member is the identity with which groups are served.
	Member = "member"
	// Bootstrap is the identity that installs objects into the member.
	Bootstrap = "bootstrap"
)

// Held is a credential in a Secret of the operator's namespace.
type Held struct {
	// MemberCluster is the name of the member.
	MemberCluster string
	// Identity is [Member] or [Bootstrap].
	Identity string
	// Namespace, Secret and Key have the kubeconfig.
	Namespace, Secret, Key string
	// Expires is when the credential expires; see [Expiry].
	Expires time.Time
	// Account is the ServiceAccount whose token the operator renews, as namespace/name; empty if it renews none. Renews is when it does.
	Account string
	Renews  time.Time
}

// Attempts are the results of renewals and of the requests with renewed tokens.
type Attempts struct {
	// Failed is why the last renewal failed, by identity.
	Failed map[string]string
	// Rejected is true if the member does not accept the token of [Member].
	Rejected bool
}

// expired reports whether the credential has expired.
func (h Held) expired(now time.Time) bool { return !h.Expires.IsZero() && !h.Expires.After(now) }

// renewal is the command that replaces the kubeconfig and leaves other keys of the Secret as they are.
func (h Held) renewal() string {
	return fmt.Sprintf(`kubectl patch secret %s -n %s -p "{\"data\":{\"%s\":\"$(base64 < FILE | tr -d '\n')\"}}"`, h.Secret, h.Namespace, h.Key)
}

// first returns the credential that expires first, or nil if none has a known expiry.
func first(all []Held) *Held {
	var first *Held
	for i := range all {
		if h := &all[i]; !h.Expires.IsZero() && (first == nil || h.Expires.Before(first.Expires)) {
			first = h
		}
	}
	return first
}

// soon is how long before its expiry a credential has a metric: 50 members with two credentials each would be many series.
const soon = 30 * 24 * time.Hour

// overdue is how long after its time a renewal is reported in a metric.
const overdue = 10 * time.Minute

// Next returns the credential that expires first, or nil if that is unknown or far ahead: more than 30 days, or before its renewal is overdue.
func Next(all []Held, now time.Time) *Held {
	next := first(all)
	if next == nil || !next.Expires.Before(now.Add(soon)) || next.Account != "" && now.Before(next.Renews.Add(overdue)) {
		return nil
	}
	return next
}

// Condition returns condition CredentialsValid.
func Condition(all []Held, attempts Attempts, now time.Time) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionCredentialsValid, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonUserManaged}
	next := first(all)
	switch {
	case next != nil && next.Account != "":
		renewed(&c, all, attempts, now)
	case next == nil:
		c.Message = "The kubeconfigs have no expiry that the operator can read. If the member refuses them, condition Ready reports it."
	case next.expired(now):
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonCredentialsExpired
		c.Message = fmt.Sprintf("The credential in Secret %q, key %q, expired at %s. Create a kubeconfig with a new credential, and write it into the Secret: %s",
			next.Secret, next.Key, next.Expires.Format(time.RFC3339), next.renewal())
	default:
		c.Message = fmt.Sprintf("The credential in Secret %q, key %q, expires at %s, and the operator does not renew it. Before that time, create a kubeconfig with a new credential, "+
			"and write it into the Secret: %s", next.Secret, next.Key, next.Expires.Format(time.RFC3339), next.renewal())
	}
	return c
}

// renewed sets the condition of credentials that the operator renews.
func renewed(c *metav1.Condition, all []Held, attempts Attempts, now time.Time) {
	next := first(all)
	for _, h := range all {
		if attempts.Rejected && h.Identity == Member && !h.expired(now) {
			c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonCredentialsRevoked
			c.Message = fmt.Sprintf("The member does not accept the token of ServiceAccount %s, which would expire at %s: it was revoked, or its ServiceAccount was deleted. %s",
				h.Account, h.Expires.Format(time.RFC3339), h.again())
			return
		}
	}
	failed, why := renewalFailure(all, attempts)
	switch {
	case next.expired(now):
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonCredentialsExpired
		c.Message = fmt.Sprintf("The token of ServiceAccount %s expired at %s, before the operator could renew it. %s", next.Account, next.Expires.Format(time.RFC3339), next.again())
	case failed != nil:
		c.Reason = v1alpha1.ReasonRenewalFails
		c.Message = fmt.Sprintf("The operator could not renew the token of ServiceAccount %s, which expires at %s, and retries: %s", failed.Account, failed.Expires.Format(time.RFC3339), why)
	default:
		c.Reason = v1alpha1.ReasonRenewed
		c.Message = fmt.Sprintf("The operator renews the tokens. The first one, of ServiceAccount %s, expires at %s.", next.Account, next.Expires.Format(time.RFC3339))
	}
}

// renewalFailure returns the first credential whose renewal failed, and why.
func renewalFailure(all []Held, attempts Attempts) (*Held, string) {
	for i := range all {
		if why := attempts.Failed[all[i].Identity]; why != "" {
			return &all[i], why
		}
	}
	return nil, ""
}

// again is how a user creates new tokens.
func (h Held) again() string {
	return fmt.Sprintf("Give the operator new tokens: kubectl vmgroup member join %s --member-context CONTEXT. Without the plugin, request a new token "+
		"(kubectl create token, bound to Secret %s), and write a kubeconfig with it into the Secret on the hub: %s", h.MemberCluster, SessionSecret, h.renewal())
}

// Changes returns when [Condition] changes although the credentials do not, or zero if it does not.
func Changes(all []Held, now time.Time) time.Time {
	if next := first(all); next != nil && !next.expired(now) {
		return next.Expires
	}
	return time.Time{}
}

// Status returns status.credentials, or nil if no expiry is known.
func Status(all []Held) *v1alpha1.MemberCredentials {
	status := v1alpha1.MemberCredentials{}
	for _, h := range all {
		if h.Expires.IsZero() {
			continue
		}
		is := &v1alpha1.MemberCredential{ExpirationTime: &metav1.Time{Time: h.Expires}}
		if !h.Renews.IsZero() {
			is.RenewalTime = &metav1.Time{Time: h.Renews.Truncate(time.Second)}
		}
		if h.Identity == Bootstrap {
			status.Bootstrap = is
		} else {
			status.Member = is
		}
	}
	if status == (v1alpha1.MemberCredentials{}) {
		return nil
	}
	return &status
}
