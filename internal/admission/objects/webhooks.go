package objects

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Timeout of a member's call to the hub, in seconds. The hub answers from memory, in milliseconds; the rest is for the network. With Ignore, the
// timeout is the minimum in Kubernetes: an unresponsive hub delays a creation with missing fields by two timeouts, and any other write by one.
// With Fail, a timeout refuses the write, so a slow network must not count as an unresponsive hub.
const (
	ignoreTimeout = 1
	failTimeout   = 3
)

// webhooks specifies how a member calls the hub.
type webhooks struct {
	base          string
	caBundle      []byte
	failurePolicy admissionv1.FailurePolicyType
	// timeout of a call, in seconds.
	timeout    int32
	conditions []admissionv1.MatchCondition
	// missing is the condition for calling the hub for defaults.
	missing string
}

// newWebhooks returns nil and a sentence with the reason if the member cannot call the hub.
func newWebhooks(in Input) (*webhooks, string) {
	base, problem := parseBase(in.WebhookBase)
	switch {
	case problem != "":
		return nil, problem
	case in.Segment == "" || BundleHash(in.CABundle) == "":
		return nil, "There is no certificate for the hub's webhook yet, so that the member's policies alone hold."
	}
	failurePolicy, timeout := admissionv1.Ignore, int32(ignoreTimeout)
	if in.FailurePolicy == v1alpha1.AdmissionFail {
		failurePolicy, timeout = admissionv1.Fail, failTimeout
	}
	return &webhooks{
		base:          base + "/clusters/" + url.PathEscape(in.Member) + "/" + url.PathEscape(in.Segment),
		caBundle:      in.CABundle,
		failurePolicy: failurePolicy,
		timeout:       timeout,
		missing:       missing(in),
		conditions: []admissionv1.MatchCondition{
			{Name: "spec-changes", Expression: specChanges},
			{Name: "not-the-operator", Expression: "!(request.userInfo.username in " + listOf(in.Exempt) + ")"},
		},
	}, ""
}

// parseBase returns the base URL at which the member calls the hub, without a trailing slash, or its problem. The member's API server accepts no
// user, query or fragment in the URL of a webhook.
func parseBase(base string) (trimmed, problem string) {
	if base == "" {
		return "", "No URL is known under which the member reaches the hub's webhook, so that the member's policies alone hold. " +
			"Set spec.admission.url, or the manager's flag --admission-url."
	}
	parsed, err := url.Parse(base)
	if err != nil || parsed.Scheme != "https" || parsed.Host == "" || parsed.User != nil || parsed.Opaque != "" ||
		strings.Trim(parsed.Path, "/") != "" || parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "" {
		return "", fmt.Sprintf("The URL %q of the hub's webhook is not one that the member can call: it must be https, with a host, "+
			"and without user, path, query and fragment.", base)
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
			TimeoutSeconds:          ptr.To(w.timeout),
			AdmissionReviewVersions: []string{"v1"},
			ReinvocationPolicy:      ptr.To(admissionv1.NeverReinvocationPolicy),
			MatchConditions:         append(slices.Clone(w.conditions), admissionv1.MatchCondition{Name: "something-missing", Expression: w.missing}),
		}},
	}
}

// validating is the call for a verdict. The hub records who made the change; nothing is recorded of a dry run.
func (w *webhooks) validating() *admissionv1.ValidatingWebhookConfiguration {
	return &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: Name, Labels: managed()},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name:                    "policies." + v1alpha1.GroupVersion.Group,
			ClientConfig:            w.client("/validate"),
			Rules:                   rules(groups(admissionv1.Create, admissionv1.Update), scaling()),
			FailurePolicy:           ptr.To(w.failurePolicy),
			MatchPolicy:             ptr.To(admissionv1.Equivalent),
			SideEffects:             ptr.To(admissionv1.SideEffectClassNoneOnDryRun),
			TimeoutSeconds:          ptr.To(w.timeout),
			AdmissionReviewVersions: []string{"v1"},
			MatchConditions:         w.conditions,
		}},
	}
}

// missing holds if the hub could set a field. A member with mutating policies applies those first. Only required fields that they failed to
// set, or that have no default, are left; the schema then refuses the latter. The hub answers an inquiry whatever its fields.
func missing(in Input) string {
	unset := `!has(object.spec.cpu) || !has(object.spec.memory) || !has(object.spec.template)`
	if !in.ServesMutatingPolicies {
		// A group keeps its vCenter, even if that has no name.
		unset += ` ||
  (!has(object.spec.vcenter) || object.spec.vcenter == '') && (oldObject == null || oldObject.?spec.?vcenter.orValue('') != '')`
		// Most groups state no size. They wait for the hub only if a policy has one for them.
		if slices.ContainsFunc(in.Limits.Policies, func(p v1alpha1.LimitsPolicy) bool { return p.Defaults.Disk != 0 }) {
			unset += ` || ` + unsized
		}
	}
	return "has(object.spec) && type(object.spec) == map && (" + inquires + " || " + unset + ")"
}

func rules(named ...admissionv1.NamedRuleWithOperations) []admissionv1.RuleWithOperations {
	result := make([]admissionv1.RuleWithOperations, len(named))
	for i := range named {
		result[i] = named[i].RuleWithOperations
	}
	return result
}
