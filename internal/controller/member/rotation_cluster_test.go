//go:build unix && !fast

package member

import (
	"errors"
	"fmt"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/kubeconfig"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// serviceAccountKubeconfig returns a kubeconfig with a token of a ServiceAccount. The deletion of Secret bound revokes the token.
func serviceAccountKubeconfig(t *testing.T, server *localcluster.ControlPlane, account, bound string) []byte {
	t.Helper()
	member := directClient(t, server.Config)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: bound}}
	if err := member.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Secret", APIVersion: "v1", Name: bound, UID: secret.UID},
	}}
	owner := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: account}}
	if err := member.Create(t.Context(), owner); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	if err := member.SubResource("token").Create(t.Context(), owner, request); err != nil {
		t.Fatal(err)
	}
	return kubeconfigWith(t, server, account, request.Status.Token)
}

// kubeconfigWith returns a kubeconfig with a token.
func kubeconfigWith(t *testing.T, server *localcluster.ControlPlane, user, token string) []byte {
	t.Helper()
	content, err := server.UserKubeconfig(user)
	if err != nil {
		t.Fatal(err)
	}
	file, err := clientcmd.Load(content)
	if err != nil {
		t.Fatal(err)
	}
	for name := range file.AuthInfos {
		file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	}
	if content, err = clientcmd.Write(*file); err != nil {
		t.Fatal(err)
	}
	return content
}

func TestARenewedTokenKeepsTheConnectionAndTheOldOneIsNotUsedAnyMore(t *testing.T) {
	servers := clustersForTest(t)
	in := installed(t, servers.hub, "renewed", nil)
	account := "renewed-token"
	grant(t, servers.alpha, "system:serviceaccount:"+metav1.NamespaceDefault+":"+account)
	first := serviceAccountKubeconfig(t, servers.alpha, account, "first-token")
	in.join("alpha", first)
	in.awaitEngaged("alpha")
	before := in.provider.Observe("alpha")
	in.putKubeconfig("alpha", serviceAccountKubeconfig(t, servers.alpha, account, "second-token"))
	member := directClient(t, servers.alpha.Config)
	if err := member.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "first-token"}}); err != nil {
		t.Fatal(err)
	}
	config, err := kubeconfig.Parse(first)
	if err != nil {
		t.Fatal(err)
	}
	// An API server caches that it accepts a token.
	revoked := directClient(t, config)
	await.NoError(t, "refusal of the first token", func() error {
		if err := revoked.Get(t.Context(), types.NamespacedName{Name: metav1.NamespaceSystem}, &corev1.Namespace{}); !apierrors.IsUnauthorized(err) {
			return fmt.Errorf("not refused: %w", errors.Join(err, errors.New("still in use")))
		}
		return nil
	})
	refusedAt := time.Now()
	await.NoError(t, "health checks with the second token", func() error {
		if is := in.provider.Observe("alpha"); is.LastContact.Before(refusedAt.Add(time.Second)) || is.Problem != nil {
			return fmt.Errorf("%+v", is)
		}
		return nil
	})
	if is := in.provider.Observe("alpha"); !is.EngagedAt.Equal(before.EngagedAt) {
		t.Errorf("engaged at %s, and anew at %s", before.EngagedAt, is.EngagedAt)
	}
}

// Only the operator can write the limits, and the policy identifies it by its username: a new username must
// get access.
func TestAnotherUsernameTakesOverWhatOnlyTheOperatorMayWrite(t *testing.T) {
	servers := clustersForTest(t)
	rendered := &renderedAdmission{summary: "before"}
	in := installed(t, servers.hub, "usernames", func(o *testOptions) { o.admission = rendered })
	member := directClient(t, servers.alpha.Config)
	before, revoke := grant(t, servers.alpha, "username-before")
	after, _ := grant(t, servers.alpha, "username-after")
	in.join("alpha", before)
	in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonNoWebhook)
	await.NoError(t, "protection of VmGroupLimits", func() error {
		limits := admissionObject(t, member, "VmGroupLimits")
		limits.SetAnnotations(map[string]string{"written-by": "another-writer"})
		if err := member.Update(t.Context(), limits, client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("another user can write the limits: %w", errors.Join(err, errors.New("not forbidden")))
		}
		return nil
	})
	revoke()
	rendered.summarize("after")
	in.putKubeconfig("alpha", after)
	awaitObject(t, member, "VmGroupLimits", func(object *unstructured.Unstructured) bool {
		summary, _, _ := unstructured.NestedString(object.Object, "spec", "summary")
		return summary == "after"
	})
	in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonNoWebhook)
}
