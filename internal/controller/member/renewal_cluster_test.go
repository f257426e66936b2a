//go:build unix && !fast

package member

import (
	"context"
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

// renewing is an installation with member beta, whose two identities have tokens that are bound to session and renew themselves.
type renewing struct {
	*installation
	server  *localcluster.ControlPlane
	path    *forwarder
	session *corev1.Secret
}

func newRenewing(t *testing.T, after time.Duration) *renewing {
	t.Helper()
	servers := clustersForTest(t)
	r := &renewing{server: servers.beta, path: forwardTo(t, servers.beta)}
	r.installation = installed(t, servers.hub, "renews", func(o *testOptions) { o.Timings.RenewAfter = after })
	r.session = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: credential.SessionSecret}}
	r.newTokens()
	r.join("beta", nil, func(mc *v1alpha1.MemberCluster) {
		mc.Spec.BootstrapKubeconfigSecretRef = &v1alpha1.KubeconfigReference{Name: "beta-bootstrap-kubeconfig"}
		mc.Spec.Credentials = &v1alpha1.CredentialsSpec{Renewal: v1alpha1.RenewalServiceAccountToken, TokenLifetimeSeconds: 600}
	})
	r.awaitEngaged("beta")
	return r
}

// newTokens creates the Secret, and gives the operator tokens that are bound to it.
func (r *renewing) newTokens() {
	r.t.Helper()
	r.session.ResourceVersion, r.session.UID = "", ""
	if err := directClient(r.t, r.server.Config).Create(r.t.Context(), r.session); err != nil {
		r.t.Fatal(err)
	}
	r.putKubeconfig("beta", r.path.kubeconfig(boundKubeconfig(r.t, r.server, "renews-member", r.session)))
	r.putKubeconfig("beta-bootstrap", r.path.kubeconfig(boundKubeconfig(r.t, r.server, "renews-bootstrap", r.session)))
}

// awaitRenewals waits until each token was renewed n times, and returns the tokens by identity.
func (r *renewing) awaitRenewals(n int) map[string]map[string]bool {
	r.t.Helper()
	seen := map[string]map[string]bool{credential.Member: {}, credential.Bootstrap: {}}
	for identity, token := range r.storedTokens("beta") {
		seen[identity][token] = true
	}
	first := map[string]int{credential.Member: len(seen[credential.Member]), credential.Bootstrap: len(seen[credential.Bootstrap])}
	ctx, cancel := context.WithTimeout(r.t.Context(), patience+time.Duration(n)*2*renewAfter)
	defer cancel()
	if err := await.Condition(ctx, "renewals of both tokens", func(context.Context) (bool, error) {
		renewed := true
		for identity, token := range r.storedTokens("beta") {
			seen[identity][token] = true
		}
		for identity, tokens := range seen {
			renewed = renewed && len(tokens) >= first[identity]+n
		}
		return renewed, nil
	}); err != nil {
		r.t.Fatalf("%v: %d of the member's and %d of the bootstrap identity", err, len(seen[credential.Member]), len(seen[credential.Bootstrap]))
	}
	return seen
}

// load edits groups in the member, and reads them with the operator's identity, until end is called. end returns the number of reads and those that failed.
func (r *renewing) load() (end func() (reads int, failed []error)) {
	r.t.Helper()
	cluster, err := r.provider.Get(r.t.Context(), "beta")
	if err != nil {
		r.t.Fatal(err)
	}
	newGroup(r.t, r.server, "loaded")
	person := directClient(r.t, r.server.Config)
	ctx := r.t.Context()
	reads, failed, stop, done := 0, []error{}, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "loaded"}}
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"edit":"%d"}}}`, reads))
			if err := person.Patch(ctx, group, patch); err != nil {
				failed = append(failed, err)
			}
			if err := cluster.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(group), group); err != nil {
				failed = append(failed, err)
			}
			reads++
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	return func() (int, []error) {
		close(stop)
		<-done
		return reads, failed
	}
}

// disturbances counts the API server's answers that a bad token or an overload causes, and watches that ended.
func (r *renewing) disturbances() map[localcluster.RequestKey]int {
	r.t.Helper()
	requests, err := r.server.Requests(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	maps.DeleteFunc(requests, func(key localcluster.RequestKey, _ int) bool {
		return key.Verb != "WATCH" && !slices.Contains([]string{"401", "403", "429"}, key.Code) && key.Code[0] != '5'
	})
	return requests
}

// TestTokensRenewThemselvesOnOneConnectionAndARevokedOneIsReported: each identity renews its own token under load. Then the Secret
// to which the tokens are bound is deleted.
func TestTokensRenewThemselvesOnOneConnectionAndARevokedOneIsReported(t *testing.T) {
	r := newRenewing(t, renewAfter)
	r.awaitRenewals(1)
	engaged := r.provider.Observe("beta").EngagedAt
	before := r.disturbances()
	connections := r.path.connections()
	endLoad := r.load()
	seen := r.awaitRenewals(renewals)
	reads, failed := endLoad()
	r.awaitCredentials("beta", metav1.ConditionTrue, v1alpha1.ReasonRenewed)
	after := r.disturbances()
	t.Logf("%d reads", reads)
	if reads < 10*renewals || len(failed) > 0 || !maps.Equal(before, after) || r.path.connections() != connections {
		t.Errorf("of %d reads %d failed (%v), and %d connections were opened; refused requests and ended watches before: %v, after: %v",
			reads, len(failed), failed, r.path.connections()-connections, before, after)
	}
	for identity, tokens := range seen {
		for token := range maps.Keys(tokens) {
			account, ok := credential.AccountOf(token)
			if !ok || account.Name != "renews-"+identity || account.Expires.Sub(account.Issued) != 10*time.Minute {
				t.Errorf("%s has a token of %+v", identity, account)
			}
		}
	}
	status := r.get("beta").Status.Credentials
	if status == nil || status.Member == nil || status.Bootstrap == nil || status.Member.RenewalTime == nil || !status.Member.RenewalTime.Before(status.Member.ExpirationTime) {
		t.Errorf("status.credentials is %+v", status)
	}
	newGroup(t, r.server, "after-renewals")
	r.awaitReconciled("beta", "after-renewals")
	if is := r.provider.Observe("beta"); !is.EngagedAt.Equal(engaged) || is.Problem != nil {
		t.Errorf("engaged at %s, and then at %s; problem %v", engaged, is.EngagedAt, is.Problem)
	}
	if err := directClient(t, r.server.Config).Delete(t.Context(), r.session); err != nil {
		t.Fatal(err)
	}
	revoked := time.Now()
	message := r.awaitCredentials("beta", metav1.ConditionFalse, v1alpha1.ReasonCredentialsRevoked)
	t.Logf("reported after %s: %s", time.Since(revoked).Round(time.Second), message)
	// New tokens in the Secrets are newer than the stored ones, which are revoked.
	r.newTokens()
	r.awaitCredentials("beta", metav1.ConditionTrue, v1alpha1.ReasonRenewed)
	r.leave("beta")
	if left := r.storedTokens("beta"); len(left) > 0 {
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
