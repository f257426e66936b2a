package member

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// errAnotherCluster: the health check finds the same and has the member joined anew.
var errAnotherCluster = errors.New("another cluster answers under the member's address")

// installedFinding is the state of a member that has the whole bundle. Without a webhook defaults are filled in by a policy, if at all; lag is how
// long that one has to wait for the schema of a new CRD.
func installedFinding(bundle install.Bundle, serves bool, lag time.Duration) admissionFinding {
	switch {
	case bundle.NoWebhook != "" && serves && lag > 0:
		return admissionFinding{metav1.ConditionFalse, v1alpha1.ReasonAdmissionPending, fmt.Sprintf(
			"All is in place but what fills in defaults: API servers do not know the new schema of VmGroups yet. It comes in %s. "+
				"Until then a VmGroup has to say cpu, memory and template. The webhook is not in place: %s", lag.Round(time.Second), bundle.NoWebhook)}
	case bundle.NoWebhook != "" && !serves:
		return admissionFinding{metav1.ConditionTrue, v1alpha1.ReasonNoWebhook,
			"The admission policies are in place. Nothing fills in defaults, since the member serves no MutatingAdmissionPolicies of " +
				"admissionregistration.k8s.io/v1 (Kubernetes 1.36): a VmGroup has to say cpu, memory and template. The webhook is not in place: " + bundle.NoWebhook}
	case bundle.NoWebhook != "":
		return admissionFinding{metav1.ConditionTrue, v1alpha1.ReasonNoWebhook,
			"The admission policies are in place. The webhook is not: " + bundle.NoWebhook}
	}
	return admissionFinding{metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled,
		"The admission policies and the webhook are in place."}
}

// refusedFinding names the first object that was refused; what comes after it often is a consequence.
func (k *admissionKeeper) refusedFinding(refused []install.Refusal) admissionFinding {
	first := refused[0]
	others := ""
	if n := len(refused) - 1; n > 0 {
		others = fmt.Sprintf(" (and %d more)", n)
	}
	result := k.answerFinding(first.Err)
	result.message = fmt.Sprintf("%s%s: %s", first.Object, others, result.message)
	return result
}

// failed is the outcome of a pass that could not go on.
func (k *admissionKeeper) failed(err error) outcome {
	var known *remote.Problem
	switch {
	case errors.Is(err, remote.ErrNotLeading), errors.Is(err, install.ErrClaimMissing), errors.Is(err, errAnotherCluster):
		return outcome{void: true} // the health check deals with it, and a pass follows
	case errors.As(err, &known) && known.Lasting:
		return outcome{finding: admissionFinding{metav1.ConditionFalse, v1alpha1.ReasonAdmissionFailed, known.Message}}
	case remote.Answered(err) || apierrors.IsUnauthorized(err):
		return outcome{finding: k.answerFinding(err)}
	}
	p := remote.AsProblem(k.apis.Bootstrap.Host(), k.apis.BootstrapProblem(err))
	k.c.log.V(1).Info("The admission objects could not be looked after", "error", err.Error())
	return outcome{silent: true, finding: admissionFinding{metav1.ConditionUnknown, v1alpha1.ReasonAdmissionPending,
		"The admission objects could not be looked after. " + p.Message}}
}

// answerFinding is the state of a member whose API server refuses with err.
func (k *admissionKeeper) answerFinding(err error) admissionFinding {
	host, identity := k.apis.Bootstrap.Host(), "spec.kubeconfigSecretRef"
	if k.apis.Separate() {
		identity = "spec.bootstrapKubeconfigSecretRef"
	}
	switch {
	case apierrors.IsUnauthorized(err):
		return admissionFinding{metav1.ConditionFalse, v1alpha1.ReasonAdmissionForbidden, fmt.Sprintf(
			"%s does not accept the credentials of %s. Renew the Secret; it is picked up at once.", host, identity)}
	case apierrors.IsForbidden(err):
		return admissionFinding{metav1.ConditionFalse, v1alpha1.ReasonAdmissionForbidden, fmt.Sprintf(
			"%s forbids it to the identity of %s: %s. %s", host, identity, remote.AnswerOf(err), remote.RenewRoles)}
	}
	return admissionFinding{metav1.ConditionFalse, v1alpha1.ReasonAdmissionFailed,
		fmt.Sprintf("%s refuses it: %s. It is tried again.", host, remote.AnswerOf(err))}
}

// compare looks at the objects of a member where somebody else keeps them (spec.manage None). Such a member
// acknowledges a CA bundle when its webhook configurations say what ours would.
func (k *admissionKeeper) compare(ctx context.Context, bundle install.Bundle) outcome {
	found, err := install.Compare(ctx, k.apis.Bootstrap, bundle)
	if err != nil {
		if apierrors.IsForbidden(err) {
			return outcome{versions: map[install.Object]string{}, finding: admissionFinding{metav1.ConditionUnknown,
				v1alpha1.ReasonAdmissionNotManaged, "spec.manage is None, and the operator may not look whether the admission " +
					"objects are in place: " + remote.AnswerOf(err)}}
		}
		return k.failed(err)
	}
	// Nothing of ours has to stay as it is: the next look comes with Timings.Reapply.
	out := outcome{versions: map[install.Object]string{}, acknowledged: found.Acknowledged, segment: bundle.SegmentPeriod}
	out.finding = keptElsewhere(installedFinding(bundle, k.serves, k.schemaLag))
	if found.Wrong != "" {
		out.finding = admissionFinding{metav1.ConditionFalse, v1alpha1.ReasonAdmissionNotManaged, fmt.Sprintf(
			"%s is not as it should be, and spec.manage is None. Apply the output of `manager render --member %s` to the member.",
			found.Wrong, k.c.target.Name)}
	}
	return out
}

// keptElsewhere is the state of a member that has the whole bundle from somebody else.
func keptElsewhere(installed admissionFinding) admissionFinding {
	return admissionFinding{installed.status, v1alpha1.ReasonAdmissionNotManaged, installed.message + " spec.manage is None."}
}

// admissionCondition is the condition AdmissionReady. in.admission is true.
func admissionCondition(in statusInput) metav1.Condition {
	before := meta.FindStatusCondition(in.previous.Conditions, v1alpha1.ConditionAdmissionReady)
	found := in.seen.admission
	away := in.config != nil || in.seen.problem != nil || found != nil && found.status == metav1.ConditionUnknown
	switch {
	case away && behind(in):
		return metav1.Condition{
			Type: v1alpha1.ConditionAdmissionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonCABundleBehind,
			Message: "The member cannot be reached and does not know the current certificate authority of the hub's webhook. It " +
				"learns it as soon as it answers; see condition Ready.",
		}
	case found != nil && in.config == nil && (in.seen.problem == nil || found.status != metav1.ConditionUnknown || before == nil):
		return metav1.Condition{
			Type: v1alpha1.ConditionAdmissionReady, Status: found.status, Reason: found.reason, Message: found.message,
		}
	case before != nil && before.Reason != v1alpha1.ReasonCABundleBehind:
		return *before
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionAdmissionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonAdmissionPending,
		Message: "The admission objects were not installed yet; see condition Ready.",
	}
}

// behind reports whether the member acknowledged another CA bundle than it should have. One that has no webhook has
// nothing to be behind with.
func behind(in statusInput) bool {
	acknowledged := in.previous.CABundleHash
	if in.seen.acknowledged != nil && in.config == nil {
		acknowledged = *in.seen.acknowledged
	}
	return acknowledged != "" && in.caBundle != "" && acknowledged != in.caBundle
}
