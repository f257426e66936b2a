//go:build unix && !fast

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// TestJoinGivesTheHubAccessAndASecondRunChangesNothing uses the three kinds of contexts.
func TestJoinGivesTheHubAccessAndASecondRunChangesNothing(t *testing.T) {
	for _, kind := range []string{"certificate", "token", "exec"} {
		t.Run(kind, func(t *testing.T) {
			b := newBench(t)
			b.kindOfContext(kind)
			name := "join-" + kind
			out, err := b.join(name)
			b.must(err)
			for _, i := range []string{"member", "bootstrap"} {
				if user := b.userOf(name, i); user != "system:serviceaccount:vmgroup-operator:vmgroup-operator-"+i {
					t.Errorf("the kubeconfig of %s is of %s", i, user)
				}
			}
			compare(t, "join", withoutValues(out, name))
			// The operator reports before the second run, as it would.
			b.operator(name, metav1.Condition{Type: v1alpha1.ConditionCredentialsValid, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRenewed})
			before := b.versions()
			again, err := b.join(name)
			b.must(err)
			b.same("a second run", before, b.versions())
			compare(t, "join-again", withoutValues(again, name))
		})
	}
}

// withoutValues replaces what differs between runs of join.
func withoutValues(out, name string) string {
	out = strings.ReplaceAll(out, name, "NAME")
	for pattern, value := range map[string]string{
		`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`: "UID", `https://127\.0\.0\.1:\d+`: "https://MEMBER", `Kubernetes v[0-9.]+`: "Kubernetes VERSION",
		`\d{4}-\d\d-\d\dT[0-9:]+Z`: "TIME",
	} {
		out = regexp.MustCompile(pattern).ReplaceAllString(out, value)
	}
	return out
}

// kindOfContext gives the user of the member another kind of credential.
func (b *bench) kindOfContext(kind string) {
	b.Helper()
	if kind == "certificate" {
		return
	}
	token := b.adminToken()
	b.file.AuthInfos["edge"] = &clientcmdapi.AuthInfo{Token: token}
	if kind == "exec" {
		script := filepath.Join(b.TempDir(), "credential")
		b.must(os.WriteFile(script, fmt.Appendf(nil, `#!/bin/sh
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}'
`, token), 0o700))
		b.file.AuthInfos["edge"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
			APIVersion: "client.authentication.k8s.io/v1", Command: script, InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		}}
	}
}

// adminToken is a token of a ServiceAccount with all rights in the member.
func (b *bench) adminToken() string {
	b.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "person"}}
	b.must(client.IgnoreAlreadyExists(b.member.Create(b.Context(), account)))
	b.must(client.IgnoreAlreadyExists(b.member.Create(b.Context(), clusterAdmin(account))))
	request := &authenticationv1.TokenRequest{}
	b.must(b.member.SubResource("token").Create(b.Context(), account, request))
	return request.Status.Token
}

// userOf returns the user of a kubeconfig in the Secret of a MemberCluster, as the member sees it.
func (b *bench) userOf(name, identity string) string {
	b.Helper()
	mc, secret := &v1alpha1.MemberCluster{}, &corev1.Secret{}
	b.must(b.hub.Get(b.Context(), types.NamespacedName{Name: name}, mc))
	ref := mc.Spec.KubeconfigSecretRef
	if identity == "bootstrap" {
		ref = mc.Spec.BootstrapKubeconfigSecretRef
	}
	b.must(b.hub.Get(b.Context(), types.NamespacedName{Namespace: operatorNamespace, Name: ref.Name}, secret))
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data[ref.Key])
	b.must(err)
	c, err := client.New(config, client.Options{Scheme: cluster.Scheme()})
	b.must(err)
	review := &authenticationv1.SelfSubjectReview{}
	b.must(c.Create(b.Context(), review))
	return review.Status.UserInfo.Username
}

// TestInputsThatCannotWorkLeaveNoObject has the broken inputs of users.
func TestInputsThatCannotWorkLeaveNoObject(t *testing.T) {
	for story, test := range map[string]struct {
		arrange func(*bench)
		args    []string
		code    int
		says    string
	}{
		"a context that does not exist": {args: []string{"--member-context", "elsewhere"}, code: 2, says: `no context "elsewhere"`},
		"a user without rights in the member": {
			arrange: func(b *bench) { b.context("edge", b.user(b.servers.member, "intern")) }, code: 3, says: `lacks a right`,
		},
		"a user without rights on the hub": {
			arrange: func(b *bench) { b.context("hub", b.user(b.servers.hub, "intern")) }, code: 3, says: `lacks a right`,
		},
		"a member that does not respond": {
			arrange: func(b *bench) { b.file.Clusters["edge"].Server = "https://127.0.0.1:1" }, code: 3, says: "cannot be reached at https://127.0.0.1:1",
		},
		"a certificate of an unknown authority": {
			arrange: func(b *bench) {
				b.file.Clusters["edge"].CertificateAuthorityData = b.file.Clusters["hub"].CertificateAuthorityData
			}, code: 3, says: "authority that context",
		},
		"a certificate that is not verified": {
			arrange: func(b *bench) {
				b.file.Clusters["edge"].CertificateAuthorityData, b.file.Clusters["edge"].InsecureSkipTLSVerify = nil, true
			}, code: 2, says: "--certificate-authority-file",
		},
		"a member of another hub": {
			arrange: func(b *bench) {
				b.make(b.member, &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: install.ClaimName},
					Data:       map[string]string{install.ClaimInstallationKey: "another", install.ClaimHubKey: "https://other"},
				})
			}, code: 2, says: `Installation "another" of hub`,
		},
		"a cluster that has joined by another name": {
			arrange: func(b *bench) {
				b.make(b.hub, &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "first"}, Spec: v1alpha1.MemberClusterSpec{
					KubeconfigSecretRef: &v1alpha1.KubeconfigReference{Name: "x"}, ClusterUID: b.uid(b.member),
				}})
			}, code: 2, says: `already MemberCluster "first"`,
		},
		"a name of another cluster": {
			arrange: func(b *bench) {
				b.make(b.hub, &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "broken"}, Spec: v1alpha1.MemberClusterSpec{
					KubeconfigSecretRef: &v1alpha1.KubeconfigReference{Name: "x"}, ClusterUID: "another",
				}})
			}, code: 2, says: `is another cluster (UID another)`,
		},
		"the hub as a member":   {args: []string{"--member-context", "hub"}, code: 2, says: "is the hub itself"},
		"a member as the hub":   {args: []string{"--hub-context", "edge"}, code: 2, says: "is not a hub"},
		"a reserved name":       {args: []string{"local"}, code: 2, says: "the hub itself"},
		"a name with a capital": {args: []string{"Edge"}, code: 2, says: "is not valid"},
		"an old Kubernetes": {
			arrange: func(b *bench) { b.through(b.servers.member, "edge", version("v1.33.4")) }, code: 2, says: "runs Kubernetes v1.33.4",
		},
		"a CRD of another operator": {
			arrange: func(b *bench) { b.make(b.member, foreignCRD()) }, code: 2, says: `which is not the operator's`,
		},
		"a namespace that is being deleted": {
			arrange: func(b *bench) { b.through(b.servers.member, "edge", terminating) }, code: 2, says: "is being deleted",
		},
		"an address of this computer": {args: []string{"--server", ""}, code: 2, says: "is an address of this computer"},
		"a server without https":      {args: []string{"--server", "http://edge.example.com"}, code: 2, says: "not of the form https://"},
		"a clock that is wrong": {
			arrange: func(b *bench) { b.through(b.servers.member, "edge", late) }, code: 2, says: "clocks of the member and the hub differ by",
		},
		"a lifetime that no API server allows": {args: []string{"--token-lifetime", "1m"}, code: 2, says: "from 10m to 168h"},
		"a flag of one connection":             {args: []string{"--token", "x"}, code: 2, says: "unknown flag"},
		"a bundle and a context":               {args: []string{"--bundle", "x"}, code: 2, says: "bundle"},
		"a version with control characters": {
			arrange: func(b *bench) { b.through(b.servers.member, "edge", version("v1.20.0\x1b[2J")) }, code: 2, says: "runs Kubernetes v1.20.0",
		},
		"an unknown flag": {args: []string{"--serve"}, code: 2, says: "unknown flag"},
	} {
		t.Run(story, func(t *testing.T) {
			b := newBench(t)
			if test.arrange != nil {
				test.arrange(b)
			}
			before := b.versions()
			args := []string{"member", "join", "broken", "--member-context", "edge", "--server", "https://edge.example.com", "--wait", "0"}
			for i, arg := range test.args {
				if i == 0 && !strings.HasPrefix(arg, "--") {
					args[2] = arg
				} else {
					args = append(args, arg)
				}
			}
			out, err := b.run(args...)
			if err == nil {
				t.Fatalf("it joined:\n%s", out)
			}
			if code := ExitCode(err); code != test.code || !strings.Contains(err.Error(), test.says) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("exit code %d, want %d; the sentence, which lacks %q:\n%s", code, test.code, test.says, err)
			}
			b.same(story, before, b.versions())
		})
	}
}

// TestTwoPersonsJoinAMemberWithABundle: neither has access to the other side.
func TestTwoPersonsJoinAMemberWithABundle(t *testing.T) {
	b := newBench(t)
	hubOnly := b.file.AuthInfos["hub"]
	b.file.AuthInfos["hub"] = &clientcmdapi.AuthInfo{Token: "none"}
	path := filepath.Join(t.TempDir(), "bundle.yaml")
	_, err := b.run("member", "prepare", "--context", "edge", "--server", b.servers.member.Config.Host, "--output", path)
	b.must(err)
	content, err := os.ReadFile(path)
	b.must(err)
	bundle := string(content)
	b.file.AuthInfos["hub"], b.file.AuthInfos["edge"] = hubOnly, &clientcmdapi.AuthInfo{Token: "none"}
	_, err = b.run("member", "join", "pair", "--bundle", path, "--wait", "0")
	b.must(err)
	if user := b.userOf("pair", "bootstrap"); user != "system:serviceaccount:vmgroup-operator:vmgroup-operator-bootstrap" {
		t.Errorf("the kubeconfig is of %s", user)
	}
	b.must(os.WriteFile(path, []byte(strings.Replace(bundle, "kind: MemberBundle", "kind: Other", 1)), 0o600))
	if _, err := b.run("member", "join", "pair", "--bundle", path, "--wait", "0"); ExitCode(err) != cluster.ExitUsage || strings.Contains(err.Error(), "eyJ") {
		t.Errorf("a file of another kind: %v", err)
	}
}

// TestRevokedTokensAreRejectedAndNewOnesWork also shows that the plugin and the operator use one Secret for it.
func TestRevokedTokensAreRejectedAndNewOnesWork(t *testing.T) {
	b := newBench(t)
	_, err := b.join("stolen")
	b.must(err)
	secret := &corev1.Secret{}
	b.must(b.hub.Get(t.Context(), types.NamespacedName{Namespace: operatorNamespace, Name: "stolen-join"}, secret))
	stolen, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["member"])
	b.must(err)
	thief, err := client.New(stolen, client.Options{Scheme: cluster.Scheme()})
	b.must(err)
	_, err = b.run("member", "revoke", "stolen", "--member-context", "edge", "--server", b.servers.member.Config.Host)
	b.must(err)
	await.NoError(t, "the stolen token to be rejected", func() error {
		if err := thief.Create(t.Context(), &authenticationv1.SelfSubjectReview{}); !apierrors.IsUnauthorized(err) {
			return fmt.Errorf("the answer is %w", errors.Join(err, errors.New("not 401")))
		}
		return nil
	})
	if user := b.userOf("stolen", "member"); user != "system:serviceaccount:vmgroup-operator:vmgroup-operator-member" {
		t.Errorf("the new kubeconfig is of %s", user)
	}
	session := &corev1.Secret{}
	b.must(b.member.Get(t.Context(), types.NamespacedName{Namespace: "vmgroup-operator", Name: credential.SessionSecret}, session))
}

// TestTokenWritesOnlyTheSecret for members whose other objects come from Git.
func TestTokenWritesOnlyTheSecret(t *testing.T) {
	b := newBench(t)
	if _, err := b.run("member", "token", "git", "--member-context", "edge", "--server", b.servers.member.Config.Host); ExitCode(err) != cluster.ExitUsage || !strings.Contains(err.Error(), "vmgroup-operator-session") {
		t.Errorf("without the objects in the member: %v", err)
	}
	_, err := b.run("member", "prepare", "--context", "edge", "--server", b.servers.member.Config.Host)
	b.must(err)
	before := b.versions()
	_, err = b.run("member", "token", "git", "--member-context", "edge", "--server", b.servers.member.Config.Host)
	b.must(err)
	after := b.versions()
	if after["Secret operator/git-join"] == "" {
		t.Errorf("there is no Secret: %v", after)
	}
	delete(after, "Secret operator/git-join")
	b.same("token", before, after)
}

// TestALaterRunKeepsWhatAnEarlierOneHasSet although its flags do not mention it.
func TestALaterRunKeepsWhatAnEarlierOneHasSet(t *testing.T) {
	b := newBench(t)
	_, err := b.join("keeps", "--webhook-url", "https://hub.example.com", "--failure-policy", "Fail", "--token-lifetime", "24h")
	b.must(err)
	b.operator("keeps", metav1.Condition{Type: v1alpha1.ConditionCredentialsValid, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRenewed})
	before := b.versions()
	_, err = b.run("member", "join", "keeps", "--member-context", "edge", "--wait", "0") // the context's server is a loopback address
	b.must(err)
	b.same("a run without flags", before, b.versions())
	_, err = b.run("member", "join", "keeps", "--member-context", "edge", "--wait", "0", "--failure-policy", "Ignore")
	b.must(err)
	mc := &v1alpha1.MemberCluster{}
	b.must(b.hub.Get(t.Context(), types.NamespacedName{Name: "keeps"}, mc))
	if a := mc.Spec.Admission; a == nil || a.URL != "https://hub.example.com" || a.FailurePolicy != v1alpha1.AdmissionIgnore || mc.Spec.Credentials.TokenLifetimeSeconds != 24*3600 {
		t.Errorf("spec is %+v", mc.Spec)
	}
}

// TestRevokedTokensAreReplacedAlthoughTheOperatorHasNotNoticed: condition CredentialsValid is still true for some seconds.
func TestRevokedTokensAreReplacedAlthoughTheOperatorHasNotNoticed(t *testing.T) {
	b := newBench(t)
	_, err := b.join("soon")
	b.must(err)
	b.operator("soon", metav1.Condition{Type: v1alpha1.ConditionCredentialsValid, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRenewed})
	_, err = b.run("member", "revoke", "--only", "--member-context", "edge")
	b.must(err)
	_, err = b.run("member", "join", "soon", "--member-context", "edge", "--wait", "0")
	b.must(err)
	if user := b.userOf("soon", "member"); user != "system:serviceaccount:vmgroup-operator:vmgroup-operator-member" {
		t.Errorf("the kubeconfig is of %s", user)
	}
}

// TestTheNamespaceOfTheOperatorIsThatOfItsServiceAccount, and not that of a Pod with its labels, which any user can create.
func TestTheNamespaceOfTheOperatorIsThatOfItsServiceAccount(t *testing.T) {
	b := newBench(t)
	b.make(b.hub, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "vmgroup-operator-manager"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "x"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: operatorNamespace, Name: "vmgroup-operator"}},
	})
	b.make(b.hub, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "decoy", Labels: map[string]string{"app.kubernetes.io/name": "vmgroup-operator"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}},
	})
	out, err := b.join("placed", "--operator-namespace", "")
	b.must(err)
	if !strings.Contains(out, "namespace operator\n") {
		t.Errorf("the Secret is elsewhere:\n%s", out)
	}
}

// TestABundleIsAFileForItsOwnerOnly and replaces no file.
func TestABundleIsAFileForItsOwnerOnly(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(t.TempDir(), "bundle.yaml")
	prepare := []string{"member", "prepare", "--context", "edge", "--server", b.servers.member.Config.Host, "--output", path}
	_, err := b.run(prepare...)
	b.must(err)
	info, err := os.Stat(path)
	b.must(err)
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("the file has mode %o", mode)
	}
	if _, err := b.run(prepare...); ExitCode(err) != cluster.ExitUsage {
		t.Errorf("with an existing file: %v", err)
	}
}
