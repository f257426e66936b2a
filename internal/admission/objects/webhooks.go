package objects

import (
	"fmt"
	"net/url"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Timeouts in seconds after which a member gives up a call of the hub; a creation waits for both.
const (
	mutateTimeout   = 2
	validateTimeout = 3
)

// webhooks says how a member calls the hub.
type webhooks struct {
	base          string
	caBundle      []byte
	failurePolicy admissionv1.FailurePolicyType
	conditions    []admissionv1.MatchCondition
}

// newWebhooks returns nil and a sentence why when the member cannot call the hub.
func newWebhooks(in Input) (*webhooks, string) {
	base, problem := parseBase(in.WebhookBase)
	switch {
	case problem != "":
		return nil, problem
	case in.Segment == "" || BundleHash(in.CABundle) == "":
		return nil, "There is no certificate for the hub's webhook yet, so that the member's policies alone hold."
	}
	failurePolicy := admissionv1.Ignore
	if in.FailurePolicy == v1alpha1.AdmissionFail {
		failurePolicy = admissionv1.Fail
	}
	return &webhooks{
		base:          base + "/clusters/" + url.PathEscape(in.Member) + "/" + url.PathEscape(in.Segment),
		caBundle:      in.CABundle,
		failurePolicy: failurePolicy,
		conditions: []admissionv1.MatchCondition{
			{Name: "not-being-deleted", Expression: notDeleting},
			{Name: "spec-changes", Expression: specChanges},
			{Name: "not-the-operator", Expression: "!(request.userInfo.username in " + listOf(in.Exempt) + ")"},
		},
	}, ""
}

// parseBase returns the URL below which the member calls the hub, without a slash at its end, or what is wrong with it. The
// member's API server takes no user, query or fragment in the URL of a webhook.
func parseBase(base string) (trimmed, problem string) {
	if base == "" {
		return "", "No URL is known under which the member reaches the hub's webhook, so that the member's policies alone hold. " +
			"Set spec.admission.url, or the manager's flag --admission-url."
	}
	parsed, err := url.Parse(base)
	if err != nil || parsed.Scheme != "https" || parsed.Host == "" || parsed.User != nil || parsed.Opaque != "" ||
		parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "" {
		return "", fmt.Sprintf("The URL %q of the hub's webhook is not one that the member can call: it must be https, with a host, "+
			"and without user, query and fragment.", base)
	}
	return strings.TrimRight(base, "/#"), ""
}

func (w *webhooks) client(path string) admissionv1.WebhookClientConfig {
	return admissionv1.WebhookClientConfig{URL: ptr.To(w.base + path), CABundle: w.caBundle}
}

func (w *webhooks) mutating() *admissionv1.MutatingWebhookConfiguration {
	return &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: Name, Labels: managed()},
		Webhooks: []admissionv1.MutatingWebhook{{
			Name:                    "defaults." + v1alpha1.GroupVersion.Group,
			ClientConfig:            w.client("/mutate"),
			Rules:                   rules(groups(admissionv1.Create, admissionv1.Update)),
			FailurePolicy:           ptr.To(w.failurePolicy),
			MatchPolicy:             ptr.To(admissionv1.Equivalent),
			SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
			TimeoutSeconds:          ptr.To[int32](mutateTimeout),
			AdmissionReviewVersions: []string{"v1"},
			ReinvocationPolicy:      ptr.To(admissionv1.NeverReinvocationPolicy),
			MatchConditions:         w.conditions,
		}},
	}
}

func (w *webhooks) validating() *admissionv1.ValidatingWebhookConfiguration {
	return &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: Name, Labels: managed()},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name:                    "policies." + v1alpha1.GroupVersion.Group,
			ClientConfig:            w.client("/validate"),
			Rules:                   rules(groups(admissionv1.Create, admissionv1.Update), scaling()),
			FailurePolicy:           ptr.To(w.failurePolicy),
			MatchPolicy:             ptr.To(admissionv1.Equivalent),
			SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
			TimeoutSeconds:          ptr.To[int32](validateTimeout),
			AdmissionReviewVersions: []string{"v1"},
			MatchConditions:         w.conditions,
		}},
	}
}

func rules(named ...admissionv1.NamedRuleWithOperations) []admissionv1.RuleWithOperations {
	result := make([]admissionv1.RuleWithOperations, len(named))
	for i := range named {
		result[i] = named[i].RuleWithOperations
	}
	return result
}
