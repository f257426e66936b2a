package admission

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// Finding is the state of a member's admission objects.
type Finding struct {
	// Status is Unknown if the member did not answer.
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}

// errAnotherCluster: the health check detects this as well and has the member joined again.
var errAnotherCluster = errors.New("another cluster answers under the member's address")

// installedFinding is the state of a member that has the whole bundle. Without a webhook, only a policy can set defaults; lag is how long this
// policy has to wait for the schema of a new CRD.
func installedFinding(bundle install.Bundle, serves bool, lag time.Duration) Finding {
	switch {
	case bundle.NoWebhook != "" && serves && lag > 0:
		return Finding{metav1.ConditionFalse, v1alpha1.ReasonDefaultsPending, fmt.Sprintf(
			"All is in place except the policy that sets defaults: API servers do not know the new schema of VmGroups yet. It follows in %s. "+
				"Until then, a VmGroup must set cpu, memory and template. The webhook is not in place: %s", lag.Round(time.Second), bundle.NoWebhook)}
	case bundle.NoWebhook != "" && !serves:
		return Finding{metav1.ConditionTrue, v1alpha1.ReasonNoWebhook,
			"The admission policies are in place. Nothing fills in defaults, since the member serves no MutatingAdmissionPolicies of " +
				"admissionregistration.k8s.io/v1 (Kubernetes 1.36): a VmGroup has to say cpu, memory and template. The webhook is not in place: " + bundle.NoWebhook}
	case bundle.NoWebhook != "":
		return Finding{metav1.ConditionTrue, v1alpha1.ReasonNoWebhook,
			"The admission policies are in place. The webhook is not: " + bundle.NoWebhook}
	}
	return Finding{metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled,
		"The admission policies and the webhook are in place."}
}

// refusedFinding names the first refused object; later refusals are often consequences of it.
func (k *keeping) refusedFinding(refused []install.Refusal) Finding {
	first := refused[0]
	others := ""
	if n := len(refused) - 1; n > 0 {
		others = fmt.Sprintf(" (and %d more)", n)
	}
	result := k.answerFinding(first.Err)
	result.Message = fmt.Sprintf("%s%s: %s", first.Object, others, result.Message)
	return result
}

// failed is the outcome of a pass that was interrupted by an error.
func (k *keeping) failed(err error) Outcome {
	var known *remote.Problem
	switch {
	case errors.Is(err, remote.ErrNotLeading), errors.Is(err, install.ErrClaimMissing), errors.Is(err, errAnotherCluster):
		return Outcome{void: true} // the health check handles this, and a pass follows
	case errors.As(err, &known) && known.Lasting:
		return Outcome{Finding: Finding{metav1.ConditionFalse, v1alpha1.ReasonAdmissionFailed, known.Message}}
	case remote.Answered(err) || apierrors.IsUnauthorized(err):
		return Outcome{Finding: k.answerFinding(err)}
	}
	p := remote.AsProblem(k.apis.Bootstrap.Host(), k.apis.BootstrapProblem(err))
	k.log.V(1).Info("The admission objects could not be looked after", "error", err.Error())
	return Outcome{silent: true, Finding: Finding{metav1.ConditionUnknown, v1alpha1.ReasonAdmissionPending,
		"The admission objects could not be looked after. " + p.Message}}
}

// answerFinding is the state of a member whose API server refuses with err.
func (k *keeping) answerFinding(err error) Finding {
	host, identity := k.apis.Bootstrap.Host(), "spec.kubeconfigSecretRef"
	if k.apis.Separate() {
		identity = "spec.bootstrapKubeconfigSecretRef"
	}
	switch {
	case apierrors.IsUnauthorized(err):
		return Finding{metav1.ConditionFalse, v1alpha1.ReasonAdmissionForbidden, fmt.Sprintf(
			"%s does not accept the credentials of %s. Condition CredentialsValid names the remedy.", host, identity)}
	case apierrors.IsForbidden(err):
		return Finding{metav1.ConditionFalse, v1alpha1.ReasonAdmissionForbidden, fmt.Sprintf(
			"%[1]s does not let the operator (with the kubeconfig of %[2]s) install the admission objects: %[3]s. %[4]s", host, identity, remote.AnswerOf(err), remote.RenewRoles)}
	}
	return Finding{metav1.ConditionFalse, v1alpha1.ReasonAdmissionFailed,
		fmt.Sprintf("%s refuses an admission object: %s. The operator retries.", host, remote.AnswerOf(err))}
}

// compare checks the objects of a member in which the operator does not manage them (spec.manage None). Such a member
// acknowledges a CA bundle if its webhook configurations match those of the operator.
func (k *keeping) compare(ctx context.Context, bundle install.Bundle) Outcome {
	found, err := install.Compare(ctx, k.apis.Bootstrap, bundle)
	if err != nil {
		if apierrors.IsForbidden(err) {
			return Outcome{versions: map[install.Object]string{}, Finding: Finding{metav1.ConditionUnknown,
				v1alpha1.ReasonAdmissionNotManaged, "spec.manage is None, and the operator may not look whether the admission " +
					"objects are in place: " + remote.AnswerOf(err)}}
		}
		return k.failed(err)
	}
	// No object of the operator must stay unchanged: the next check comes after Timings.Reapply.
	out := Outcome{versions: map[install.Object]string{}, Acknowledged: found.Acknowledged, Segment: bundle.SegmentPeriod}
	out.Finding = keptElsewhere(installedFinding(bundle, k.serves, k.schemaLag))
	if found.Wrong != "" {
		out.Finding = Finding{metav1.ConditionFalse, v1alpha1.ReasonAdmissionNotManaged, fmt.Sprintf(
			"%s is not as it should be, and spec.manage is None. Apply the output of `manager render --member %s` to the member.",
			found.Wrong, k.of.Name)}
	}
	return out
}

// keptElsewhere is the state of a member whose whole bundle is managed outside the operator.
func keptElsewhere(installed Finding) Finding {
	return Finding{installed.Status, v1alpha1.ReasonAdmissionNotManaged, installed.Message + " spec.manage is None."}
}
