//go:build unix && !fast

package rbac

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// TestAnIdentityGetsOnlyItsOwnBoundAndShortTokens: with the objects of config/member-renewal, a stolen token cannot become one of the other identity, one
// that survives the deletion of the session Secret, or one that lives for more than a week.
func TestAnIdentityGetsOnlyItsOwnBoundAndShortTokens(t *testing.T) {
	const namespace, runtime, bootstrap, week = "vmgroup-operator", "vmgroup-operator-member", "vmgroup-operator-bootstrap", 7 * 24 * time.Hour
	apply(t, kustomization(t, "config/member"))
	apply(t, kustomization(t, "config/member-renewal"))
	bound := &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: credential.SessionSecret}
	request := func(as client.Client, account string, lifetime time.Duration, bound *authenticationv1.BoundObjectReference) error {
		of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
		return as.SubResource("token").Create(t.Context(), of, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: new(int64(lifetime / time.Second)), BoundObjectRef: bound,
		}})
	}
	for account, user := range map[string]string{runtime: runtimeUser, bootstrap: bootstrapUser} {
		as := serviceAccount(t, user)
		await.NoError(t, "refusal of a token that is bound to nothing", func() error { // an API server enforces a new policy after a moment
			if err := request(as, account, week, nil); !refuses(err, "must be bound to the Secret vmgroup-operator-session") {
				return fmt.Errorf("not refused: %w", errors.Join(err, errors.New("the policy is not in effect")))
			}
			return nil
		})
		if err := request(as, account, week, bound); err != nil {
			t.Errorf("%s gets no token of its own: %v", account, err)
		}
		if err := request(as, account, 10*time.Minute, bound); err != nil {
			t.Errorf("%s gets no token of 10 minutes: %v", account, err)
		}
		if err := request(as, account, week+time.Second, bound); !refuses(err, "at most 7 days") {
			t.Errorf("%s gets a token of more than a week: %v", account, err)
		}
		other := *bound
		other.Kind, other.Name = "Pod", "another"
		if err := request(as, account, week, &other); !refuses(err, "must be bound") {
			t.Errorf("%s gets a token that is bound to a Pod: %v", account, err)
		}
	}
	if err := request(serviceAccount(t, runtimeUser), bootstrap, week, bound); !apierrors.IsForbidden(err) {
		t.Errorf("the runtime identity gets a token of the bootstrap identity: %v", err)
	}
	if err := request(serviceAccount(t, bootstrapUser), runtime, week, bound); !apierrors.IsForbidden(err) {
		t.Errorf("the bootstrap identity gets a token of the runtime identity: %v", err)
	}
	for _, user := range []string{runtimeUser, bootstrapUser} {
		for _, a := range []access{
			{verb: "delete", resource: "secrets", namespace: namespace, name: credential.SessionSecret},
			{verb: "delete", group: "admissionregistration.k8s.io", resource: "validatingadmissionpolicies", name: "vmgroup-operator-tokens"},
			{verb: "patch", group: "admissionregistration.k8s.io", resource: "validatingadmissionpolicybindings", name: "vmgroup-operator-tokens"},
		} {
			if may(t, user, a) {
				t.Errorf("%s may %s", user, a)
			}
		}
	}
}

func refuses(err error, words string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), words)
}
