//go:build unix

package rbac

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const template = "vm-operator-template"

// TestTheManagerNeedsNoMoreThanItsRoles runs the life of a member with the real manager. It has only tokens of the
// ServiceAccounts below config/: on the hub, which is also a member itself, and in another member.
func TestTheManagerNeedsNoMoreThanItsRoles(t *testing.T) {
	world := startWithoutManager(t)
	hub, member := world.Hub, world.Members["team-a"]
	for _, directory := range []string{"rbac", "local-member"} {
		applyTo(t, hub, kustomization(t, "config/"+directory))
	}
	applyTo(t, member, kustomization(t, "config/member"))
	join(t, world, member)
	if err := hub.Create(t.Context(), &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LocalMember}}); err != nil {
		t.Fatal(err)
	}
	manager := startAs(t, world, tokenKubeconfig(t, hub, stack.Namespace, "vmgroup-operator"))
	if err := hub.Create(t.Context(), quotaPolicy()); err != nil {
		t.Fatal(err)
	}

	for name, cluster := range map[string]*stack.Cluster{"team-a": member, v1alpha1.LocalMember: hub} {
		untilJoined(t, hub, name)
		group := lifeOfAGroup(t, hub, cluster)
		leave(t, hub, name)
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(group), group); err != nil {
			t.Error(err)
		}
		if controllerutil.ContainsFinalizer(group, v1alpha1.VmGroupFinalizer) {
			t.Errorf("%s was left, and its group has finalizers %v", name, group.Finalizers)
		}
	}
	for _, line := range strings.Split(logOf(t, manager), "\n") {
		if strings.Contains(line, "orbidden") || strings.Contains(line, "cannot ") && strings.Contains(line, "system:serviceaccount") {
			t.Errorf("the manager lacks a right: %s", line)
		}
	}
}

func startWithoutManager(t *testing.T) *stack.Stack {
	t.Helper()
	stack.Story(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	world, err := stack.Start(ctx, stack.Options{
		Members: []string{"team-a"}, Replicas: -1, Admission: true, Sim: sim.Options{Templates: []string{template}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := world.Stop(); err != nil {
			t.Error(err)
		}
	})
	// The stack joined the member with an administrator's kubeconfig.
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}}
	if err := world.Hub.Delete(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
	return world
}

// startAs starts the manager with a separate kubeconfig.
func startAs(t *testing.T, world *stack.Stack, kubeconfig []byte) *stack.Process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	// The last of two equal flags counts.
	manager, err := world.StartManager(t.Context(), "manager", world.Hub, "--kubeconfig="+file, "--enable-local-member",
		"--log-level=debug")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the manager's last words:\n%s", manager.Tail(40))
		}
		if err := manager.Stop(); err != nil {
			t.Error(err)
		}
	})
	return manager
}

// join creates a MemberCluster with one kubeconfig for each of the two ServiceAccounts.
func join(t *testing.T, world *stack.Stack, member *stack.Cluster) {
	t.Helper()
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}}
	for account, ref := range map[string]**v1alpha1.KubeconfigReference{
		"vmgroup-operator-member": &mc.Spec.KubeconfigSecretRef, "vmgroup-operator-bootstrap": &mc.Spec.BootstrapKubeconfigSecretRef,
	} {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: stack.Namespace, Name: account},
			Data:       map[string][]byte{"kubeconfig": tokenKubeconfig(t, member, "vmgroup-operator", account)},
		}
		if err := world.Hub.Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		*ref = &v1alpha1.KubeconfigReference{Name: account}
	}
	if err := world.Hub.Create(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
}

// tokenKubeconfig is a kubeconfig made from a ServiceAccount.
func tokenKubeconfig(t *testing.T, cluster *stack.Cluster, namespace, account string) []byte {
	t.Helper()
	token := &authenticationv1.TokenRequest{}
	object := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	if err := cluster.SubResource("token").Create(t.Context(), object, token); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(cluster.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.ClientCertificateData, user.ClientKeyData, user.Token = nil, nil, token.Status.Token
	}
	content, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// quotaPolicy needs the ledger of quotas on the hub, and counts in its status.
func quotaPolicy() *v1alpha1.VmGroupPolicy {
	vms := int32(50)
	return &v1alpha1.VmGroupPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "quota"},
		Spec:       v1alpha1.VmGroupPolicySpec{Quota: &v1alpha1.PolicyQuota{VMs: &vms}},
	}
}

// lifeOfAGroup creates a group, waits for its VMs and changes it.
func lifeOfAGroup(t *testing.T, hub, cluster *stack.Cluster) *v1alpha1.VmGroup {
	t.Helper()
	replicas := int32(2)
	group := &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "vg"},
		Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &replicas},
	}
	await.NoError(t, "VmGroups to be served by "+cluster.Name, func() error { return cluster.Create(t.Context(), group.DeepCopy()) })
	await.NoError(t, "the group to be ready", func() error {
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(group), group); err != nil {
			return err
		}
		if !stack.IsReady(group.Status.Conditions) {
			return fmt.Errorf("conditions %v", group.Status.Conditions)
		}
		return nil
	})
	await.NoError(t, "the policy to count the group", func() error {
		policy := &v1alpha1.VmGroupPolicy{}
		if err := hub.Get(t.Context(), client.ObjectKey{Name: "quota"}, policy); err != nil {
			return err
		}
		if policy.Status.ObservedGeneration == 0 {
			return fmt.Errorf("status %+v", policy.Status)
		}
		return nil
	})
	return group
}

func untilJoined(t *testing.T, hub *stack.Cluster, name string) {
	t.Helper()
	await.NoError(t, "MemberCluster "+name, func() error {
		mc := &v1alpha1.MemberCluster{}
		if err := hub.Get(t.Context(), client.ObjectKey{Name: name}, mc); err != nil {
			return err
		}
		admission := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionAdmissionReady)
		if !stack.IsReady(mc.Status.Conditions) || admission == nil || admission.Reason != v1alpha1.ReasonAdmissionInstalled {
			return fmt.Errorf("conditions %v", mc.Status.Conditions)
		}
		return nil
	})
}

// leave deletes a MemberCluster and waits for its deletion, which includes a timeout if the member cannot be cleaned
// up.
func leave(t *testing.T, hub *stack.Cluster, name string) {
	t.Helper()
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := hub.Delete(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
	await.NoError(t, "MemberCluster "+name+" to go", func() error {
		err := hub.Get(t.Context(), client.ObjectKey{Name: name}, mc)
		if err == nil {
			return fmt.Errorf("finalizers %v", mc.Finalizers)
		}
		return client.IgnoreNotFound(err)
	})
}

func applyTo(t *testing.T, cluster *stack.Cluster, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		err := cluster.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"), client.ForceOwnership)
		if err != nil {
			t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	awaitEffect(t, cluster, objects) // an early rejection would be in the manager's log
}

func logOf(t *testing.T, process *stack.Process) string {
	t.Helper()
	content, err := os.ReadFile(process.Log)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
