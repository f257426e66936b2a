//go:build unix && slow

package member

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestRenewalContinuesAfterAnOutageOfTheMemberAndARestartOfAllReplicas(t *testing.T) {
	r := newRenewing(t, time.Second)
	r.awaitRenewals(1)
	r.path.cut(true)
	r.awaitCredentials("beta", metav1.ConditionTrue, v1alpha1.ReasonRenewalFails)
	r.path.cut(false)
	r.awaitCredentials("beta", metav1.ConditionTrue, v1alpha1.ReasonRenewed)
	r.awaitRenewals(1)
	r.stop()
	r.start(r.opts.HubConfig, r.opts)
	r.awaitRenewals(1)
	r.leave("beta")
}
