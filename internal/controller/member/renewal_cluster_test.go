//go:build unix && !fast

package member

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/renewal"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// mayRenewItself lets a ServiceAccount of namespace default request its own tokens.
func mayRenewItself(t *testing.T, server *localcluster.ControlPlane, account string) {
	t.Helper()
	member := directClient(t, server.Config)
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: account}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{account}, Verbs: []string{"create"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: account}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := member.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// storedTokens are the tokens of a member that the operator keeps on the hub, by identity.
func (in *installation) storedTokens(member string) map[string]string {
	in.t.Helper()
	secret := &corev1.Secret{}
	if err := in.hub.Get(in.t.Context(), types.NamespacedName{Namespace: in.namespace, Name: renewal.SecretOf(member)}, secret); client.IgnoreNotFound(err) != nil {
		in.t.Fatal(err)
	}
	found := map[string]string{}
	for _, identity := range []string{credential.Member, credential.Bootstrap} {
		entry := struct{ Token string }{}
		if content := secret.Data[member+"_"+identity]; content != nil && json.Unmarshal(content, &entry) == nil {
			found[identity] = entry.Token
		}
	}
	return found
}

// TestTokensRenewThemselvesOnOneConnectionAndARevokedOneIsReported: each identity renews its own token five times. Then the Secret to which
// the tokens are bound is deleted.
func TestTokensRenewThemselvesOnOneConnectionAndARevokedOneIsReported(t *testing.T) {
	servers := clustersForTest(t)
	in := installed(t, servers.hub, "renews", func(o *testOptions) { o.Timings.RenewAfter = time.Second })
	member := directClient(t, servers.beta.Config)
	session := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: credential.SessionSecret}}
	if err := member.Create(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	in.putKubeconfig("beta", boundKubeconfig(t, servers.beta, "renews-member", session))
	in.putKubeconfig("beta-bootstrap", boundKubeconfig(t, servers.beta, "renews-bootstrap", session))
	in.join("beta", nil, func(mc *v1alpha1.MemberCluster) {
		mc.Spec.BootstrapKubeconfigSecretRef = &v1alpha1.KubeconfigReference{Name: "beta-bootstrap-kubeconfig"}
		mc.Spec.Credentials = &v1alpha1.CredentialsSpec{Renewal: v1alpha1.RenewalServiceAccountToken, TokenLifetimeSeconds: 600}
	})
	in.awaitEngaged("beta")
	engaged := in.provider.Observe("beta").EngagedAt
	seen := map[string]map[string]bool{credential.Member: {}, credential.Bootstrap: {}}
	await.NoError(t, "five renewals of each token", func() error {
		for identity, token := range in.storedTokens("beta") {
			seen[identity][token] = true
		}
		if len(seen[credential.Member]) < 5 || len(seen[credential.Bootstrap]) < 5 {
			return fmt.Errorf("%d and %d", len(seen[credential.Member]), len(seen[credential.Bootstrap]))
		}
		return nil
	})
	in.awaitCredentials("beta", metav1.ConditionTrue, v1alpha1.ReasonRenewed)
	for identity, tokens := range seen {
		for token := range maps.Keys(tokens) {
			account, ok := credential.AccountOf(token)
			if !ok || account.Name != "renews-"+identity || account.Expires.Sub(account.Issued) != 10*time.Minute {
				t.Errorf("%s has a token of %+v", identity, account)
			}
		}
	}
	status := in.get("beta").Status.Credentials
	if status == nil || status.Member == nil || status.Bootstrap == nil || status.Member.RenewalTime == nil || !status.Member.RenewalTime.Before(status.Member.ExpirationTime) {
		t.Errorf("status.credentials is %+v", status)
	}
	newGroup(t, servers.beta, "after-renewals")
	in.awaitReconciled("beta", "after-renewals")
	if is := in.provider.Observe("beta"); !is.EngagedAt.Equal(engaged) || is.Problem != nil {
		t.Errorf("engaged at %s, and then at %s; problem %v", engaged, is.EngagedAt, is.Problem)
	}
	if err := member.Delete(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	revoked := time.Now()
	message := in.awaitCredentials("beta", metav1.ConditionFalse, v1alpha1.ReasonCredentialsRevoked)
	t.Logf("reported after %s: %s", time.Since(revoked).Round(time.Second), message)
	// New tokens in the Secrets are newer than the stored ones, which are revoked.
	session.ResourceVersion, session.UID = "", ""
	if err := member.Create(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	in.putKubeconfig("beta", boundKubeconfig(t, servers.beta, "renews-member", session))
	in.putKubeconfig("beta-bootstrap", boundKubeconfig(t, servers.beta, "renews-bootstrap", session))
	in.awaitCredentials("beta", metav1.ConditionTrue, v1alpha1.ReasonRenewed)
	in.leave("beta")
	if left := in.storedTokens("beta"); len(left) > 0 {
		t.Errorf("the member was left, and the hub keeps its tokens of %v", slices.Collect(maps.Keys(left)))
	}
}

// boundKubeconfig returns a kubeconfig of a ServiceAccount that may serve the member and renew itself, with a token that is bound to a Secret.
func boundKubeconfig(t *testing.T, server *localcluster.ControlPlane, account string, bound *corev1.Secret) []byte {
	t.Helper()
	owner := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: account}}
	member := directClient(t, server.Config)
	if err := member.Get(t.Context(), client.ObjectKeyFromObject(owner), owner); err != nil {
		if err := member.Create(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
		grant(t, server, "system:serviceaccount:"+metav1.NamespaceDefault+":"+account)
		mayRenewItself(t, server, account)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: new(int64(600)),
		BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Secret", APIVersion: "v1", Name: bound.Name, UID: bound.UID},
	}}
	if err := member.SubResource("token").Create(t.Context(), owner, request); err != nil {
		t.Fatal(err)
	}
	return kubeconfigWith(t, server, account, request.Status.Token)
}

// awaitCredentials waits for a status and reason of the condition CredentialsValid, and returns its message.
func (in *installation) awaitCredentials(member string, status metav1.ConditionStatus, reason string) string {
	in.t.Helper()
	message := ""
	await.NoError(in.t, fmt.Sprintf("member %s CredentialsValid=%s %s", member, status, reason), func() error {
		is := meta.FindStatusCondition(in.get(member).Status.Conditions, v1alpha1.ConditionCredentialsValid)
		if is == nil || is.Status != status || is.Reason != reason {
			return fmt.Errorf("it is %+v", is)
		}
		message = is.Message
		return nil
	})
	return message
}
