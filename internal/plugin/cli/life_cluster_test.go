//go:build unix && !fast

package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/enroll"
	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

func isTrue(of, reason string) metav1.Condition {
	return metav1.Condition{Type: of, Status: metav1.ConditionTrue, Reason: reason, Message: reason + " is the reason."}
}

func TestJoinWaitsForTheOperator(t *testing.T) {
	b := newBench(t)
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		await.NoError(t, "the MemberCluster", func() error {
			return b.hub.Get(t.Context(), types.NamespacedName{Name: "waits"}, &v1alpha1.MemberCluster{})
		})
		b.operator("waits", isTrue(v1alpha1.ConditionReady, "Engaged"), isTrue(v1alpha1.ConditionCRDInstalled, "CRDInstalled"), isTrue(v1alpha1.ConditionAdmissionReady, "AdmissionInstalled"))
	}()
	out, err := b.join("waits", "--wait", "1m")
	<-reported
	b.must(err)
	for _, line := range []string{"✔ the hub reaches the member", "✔ the CRD is in place", "✔ the admission objects are in place", "Joined in "} {
		if !strings.Contains(out, line) {
			t.Errorf("it does not say %q:\n%s", line, out)
		}
	}
}

// TestAwaitReportsWhatTheOperatorReports, and fails at once if a person must act.
func TestAwaitReportsWhatTheOperatorReports(t *testing.T) {
	b := newBench(t)
	hub, err := cluster.New("hub", b.servers.hub.Config)
	b.must(err)
	ready, crd := isTrue(v1alpha1.ConditionReady, "Engaged"), isTrue(v1alpha1.ConditionCRDInstalled, "CRDInstalled")
	for story, test := range map[string]struct {
		reports []metav1.Condition
		code    int
		says    []string
	}{
		"no webhook": {[]metav1.Condition{ready, crd, isTrue(v1alpha1.ConditionAdmissionReady, "NoWebhook")}, 0, []string{"· the member calls no webhook of the hub", "NoWebhook is the reason."}},
		"defaults follow": {[]metav1.Condition{ready, crd,
			{Type: v1alpha1.ConditionAdmissionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDefaultsPending, Message: "They follow."},
		}, 0, []string{"· the member calls no webhook of the hub", "They follow."}},
		"a person must act": {[]metav1.Condition{isTrue(v1alpha1.ConditionStalled, "AnotherCluster")}, cluster.ExitNotWell, []string{"AnotherCluster: AnotherCluster is the reason."}},
	} {
		t.Run(story, func(t *testing.T) {
			name := strings.ReplaceAll(story, " ", "-")
			b := &bench{TB: t, hub: b.hub}
			b.make(b.hub, &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.MemberClusterSpec{KubeconfigSecretRef: &v1alpha1.KubeconfigReference{Name: name}}})
			b.operator(name, test.reports...)
			out := &bytes.Buffer{}
			err := (&enroll.Registration{Hub: hub, Name: name}).Await(t.Context(), &steps{out, term.Style{}})
			if err != nil {
				out.WriteString(err.Error())
			}
			if ExitCode(err) != test.code {
				t.Errorf("exit code %d, want %d", ExitCode(err), test.code)
			}
			for _, line := range test.says {
				if !strings.Contains(out.String(), line) {
					t.Errorf("it does not say %q:\n%s", line, out)
				}
			}
		})
	}
}

// TestJoinDoesNotTakeAnOldStateForAnAnswer: the tokens of the member were revoked, and join gives the operator new ones.
func TestJoinDoesNotTakeAnOldStateForAnAnswer(t *testing.T) {
	b := newBench(t)
	_, err := b.join("revoked")
	b.must(err)
	stalled := isTrue(v1alpha1.ConditionStalled, "Unauthorized")
	b.operator("revoked", stalled)
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: operatorNamespace, Name: "revoked-join"}
	b.must(b.hub.Get(t.Context(), key, secret))
	was := secret.ResourceVersion
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		await.NoError(t, "new tokens", func() error {
			if err := b.hub.Get(t.Context(), key, secret); err != nil || secret.ResourceVersion == was {
				return errors.Join(err, errors.New("the Secret has not changed"))
			}
			return nil
		})
		stalled.Status, stalled.Reason = metav1.ConditionFalse, "Engaged"
		b.operator("revoked", stalled, isTrue(v1alpha1.ConditionReady, "Engaged"), isTrue(v1alpha1.ConditionCRDInstalled, "CRDInstalled"), isTrue(v1alpha1.ConditionAdmissionReady, "AdmissionInstalled"))
	}()
	out, err := b.join("revoked", "--wait", "1m")
	<-reported
	b.must(err)
	if !strings.Contains(out, "MemberCluster revoked   (unchanged)") {
		t.Errorf("the MemberCluster was not changed, and it says\n%s", out)
	}
}

// TestLeaveRemovesWhatJoinHasMade and asks first.
func TestLeaveRemovesWhatJoinHasMade(t *testing.T) {
	b := newBench(t)
	_, err := b.join("goes")
	b.must(err)
	before := b.versions()
	if out, err := b.run("member", "leave", "goes", "--member-context", "edge"); ExitCode(err) != cluster.ExitUsage || !strings.Contains(out, "has 0 VmGroups with 0 VMs") {
		t.Errorf("without an answer: %v\n%s", err, out)
	}
	b.same("without an answer", before, b.versions())
	if _, err := b.run("member", "leave", "goes", "--yes", "--member-context", "hub"); ExitCode(err) != cluster.ExitUsage || !strings.Contains(err.Error(), "is the hub itself") {
		t.Errorf("with the context of another cluster: %v", err)
	}
	b.same("with the context of another cluster", before, b.versions())
	_, err = b.run("member", "leave", "goes", "--yes", "--member-context", "edge")
	b.must(err)
	if left := b.versions(); len(left) > 0 {
		t.Errorf("there are still %v", left)
	}
	b.finalize("vmgroup-operator")
	if _, err := b.run("member", "leave", "goes", "--yes"); ExitCode(err) != cluster.ExitUsage || !strings.Contains(err.Error(), `no MemberCluster "goes"`) {
		t.Errorf("a second time: %v", err)
	}
}

// TestLeaveCompletesAnInterruptedOne whose MemberCluster was deleted already.
func TestLeaveCompletesAnInterruptedOne(t *testing.T) {
	b := newBench(t)
	_, err := b.join("half")
	b.must(err)
	b.must(b.hub.Delete(t.Context(), &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "half"}}))
	_, err = b.run("member", "leave", "half", "--yes", "--member-context", "edge")
	b.must(err)
	if left := b.versions(); len(left) > 0 {
		t.Errorf("there are still %v", left)
	}
	b.finalize("vmgroup-operator")
}

// TestAnotherHubKeepsItsMember although a user of this hub joined it with a bundle, and tidies up.
func TestAnotherHubKeepsItsMember(t *testing.T) {
	b := newBench(t)
	_, err := b.join("theirs")
	b.must(err)
	b.make(b.member, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: install.ClaimName}, Data: map[string]string{install.ClaimInstallationKey: "another"},
	})
	before := b.versions()
	for _, args := range [][]string{{"leave", "theirs", "--yes"}, {"revoke", "theirs", "--server", b.servers.member.Config.Host}} {
		if _, err := b.run(append([]string{"member", "--member-context", "edge"}, args...)...); ExitCode(err) != cluster.ExitUsage || !strings.Contains(err.Error(), `Installation "another"`) {
			t.Errorf("%s: %v", args[0], err)
		}
	}
	if _, err := b.run("member", "leave", "local", "--yes", "--member-context", "hub"); ExitCode(err) != cluster.ExitUsage {
		t.Errorf("the hub as a member: %v", err)
	}
	b.same("refused commands", before, b.versions())
}

// TestLeaveNamesTheSecretsOfOthers and deletes none of them.
func TestLeaveNamesTheSecretsOfOthers(t *testing.T) {
	b := newBench(t)
	b.make(b.hub, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "manual-join"}})
	b.must(b.hub.Create(t.Context(), &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "manual"}, Spec: v1alpha1.MemberClusterSpec{
		KubeconfigSecretRef: &v1alpha1.KubeconfigReference{Name: "by-hand"}, ClusterUID: "another",
	}}))
	if _, err := b.run("member", "leave", "manual", "--yes", "--member-context", "edge"); ExitCode(err) != cluster.ExitUsage || !strings.Contains(err.Error(), "is not the cluster of") {
		t.Errorf("with the context of another cluster: %v", err)
	}
	out, err := b.run("member", "leave", "manual", "--yes")
	b.must(err)
	if !strings.Contains(out, "by-hand in namespace operator") {
		t.Errorf("it does not name the Secret:\n%s", out)
	}
	b.must(b.hub.Get(t.Context(), types.NamespacedName{Namespace: operatorNamespace, Name: "manual-join"}, &corev1.Secret{}))
}

// finalize ends the deletion of a namespace in the member, in the place of Kubernetes' controllers.
func (b *bench) finalize(name string) {
	b.Helper()
	ns := &corev1.Namespace{}
	b.must(b.member.Get(b.Context(), types.NamespacedName{Name: name}, ns))
	if ns.DeletionTimestamp.IsZero() {
		b.Errorf("namespace %s stays", name)
	}
	ns.Spec.Finalizers = nil
	b.must(client.IgnoreNotFound(b.member.SubResource("finalize").Update(b.Context(), ns)))
}

// TestContextsTellsTheRoleOfEach also of those that do not respond.
func TestContextsTellsTheRoleOfEach(t *testing.T) {
	b := newBench(t)
	b.make(b.member, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: install.ClaimName}, Data: map[string]string{install.ClaimInstallationKey: b.uid(b.hub)},
	})
	b.file.Clusters["gone"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	b.file.Contexts["gone"] = &clientcmdapi.Context{Cluster: "gone", AuthInfo: "hub"}
	out, err := b.run("contexts", "--scan")
	b.must(err)
	said := func(out string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
				t.Errorf("it lacks %q:\n%s", want, out)
			}
		}
	}
	// A user who cannot read the claim does not know whether it is a member.
	b.make(b.member, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "sees-namespaces"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}}}})
	b.make(b.member, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "sees-namespaces"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "sees-namespaces"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "stranger"}},
	})
	b.context("stranger", b.user(b.servers.member, "stranger"))
	strange, err := b.run("contexts", "--scan")
	b.must(err)
	said(strange, "stranger unknown "+b.uid(b.member)+" The user of context")
	delete(b.file.Contexts, "stranger")
	edge, hub := "edge member "+b.uid(b.member)+" "+b.uid(b.hub), "hub hub "+b.uid(b.hub)
	said(out, edge, hub, "gone unknown The cluster of context")
	out, err = b.run("contexts")
	b.must(err)
	said(out, edge, hub, "gone unknown", "To ask the contexts")
	// The hub of a member is found for commands that change nothing.
	b.file.CurrentContext = "edge"
	out, err = b.run("member", "list")
	b.must(err)
	said(out, `Context "edge" is a member of the hub of context "hub".`)
	if out, err = b.run("allow", "mass-deletion", "--member", "x"); ExitCode(err) != cluster.ExitUsage || !strings.Contains(err.Error(), "not a hub") {
		t.Errorf("a command that changes something finds the hub automatically: %v\n%s", err, out)
	}
	// The memory of another server does not count, and commands work without the file.
	b.file.Contexts["hub"].Cluster, b.file.Contexts["edge"].Cluster = b.file.Contexts["edge"].Cluster, b.file.Contexts["hub"].Cluster
	out, err = b.run("contexts")
	b.must(err)
	said(out, "edge unknown", "hub unknown")
	b.file.Contexts["hub"].Cluster, b.file.Contexts["edge"].Cluster = b.file.Contexts["edge"].Cluster, b.file.Contexts["hub"].Cluster
	b.must(os.WriteFile(filepath.Join(b.cache, "vmgroup", "contexts.json"), []byte("{"), 0o600))
	out, err = b.run("contexts")
	b.must(err)
	said(out, "edge unknown", "hub unknown")
	b.cache = "/dev/null/none"
	out, err = b.run("contexts", "--scan")
	b.must(err)
	said(out, edge, hub)
}
