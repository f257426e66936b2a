//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// installedByHelm installs the chart with the values of values_test.go and waits for three Ready Pods.
func installedByHelm(t *testing.T) {
	// The README's commands can have created the namespace, without the label.
	must(t, client.IgnoreAlreadyExists(world.hub.Create(t.Context(), restrictedNamespace())))
	must(t, world.hub.Patch(t.Context(), restrictedNamespace(), client.Merge))
	must(t, world.hub.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "vc-creds"},
		StringData: map[string]string{"username": stack.Username, "password": stack.Password, "VC_HOST": world.proxy.URL},
	}))
	notes, err := world.helm.upgrade(t.Context(), world.this.chart, world.this.values)
	must(t, err)
	world.heard(notes)
	untilThreeReady(t)
	await.Until(t, "VCenter default", func(ctx context.Context) (bool, error) {
		vcenter := &v1alpha1.VCenter{}
		if err := world.hub.Get(ctx, client.ObjectKey{Name: "default"}, vcenter); err != nil {
			return false, err
		}
		// The simulator rejects calls for which the account has no privilege, in every story.
		return stack.IsReady(vcenter.Status.Conditions) &&
			meta.IsStatusConditionTrue(vcenter.Status.Conditions, v1alpha1.ConditionPrivilegesSufficient), nil
	})
}

// restrictedNamespace rejects Pods that do not match the restricted profile.
func restrictedNamespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted",
	}}}
}

// twoMembersJoin joins them as in docs/reference/membercluster.md: with tokens of two ServiceAccounts each and
// nothing more.
func twoMembersJoin(t *testing.T) {
	for _, member := range world.members {
		must(t, world.apply(t.Context(), member, "config/member"))
		untilGranted(t, member)
		mc := &v1alpha1.MemberCluster{ObjectMeta: named(member.Name), Spec: v1alpha1.MemberClusterSpec{
			// Fail makes each unanswered call visible.
			Admission: &v1alpha1.MemberAdmission{FailurePolicy: v1alpha1.AdmissionFail},
		}}
		for account, ref := range map[string]**v1alpha1.KubeconfigReference{
			"vmgroup-operator-member": &mc.Spec.KubeconfigSecretRef, "vmgroup-operator-bootstrap": &mc.Spec.BootstrapKubeconfigSecretRef,
		} {
			kubeconfig, err := tokenKubeconfig(t.Context(), member, "vmgroup-operator", account)
			must(t, err)
			secret := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: member.Name + "-" + account},
				Data:       map[string][]byte{"kubeconfig": kubeconfig},
			}
			must(t, world.hub.Create(t.Context(), secret))
			*ref = &v1alpha1.KubeconfigReference{Name: secret.Name}
		}
		must(t, world.hub.Create(t.Context(), mc))
	}
	untilJoined(t)
}

// untilJoined waits until all members are joined, with every layer of admission in place.
func untilJoined(t *testing.T) {
	t.Helper()
	for _, member := range world.members {
		mc := &v1alpha1.MemberCluster{}
		await.Until(t, "MemberCluster "+member.Name, func(ctx context.Context) (bool, error) {
			err := world.hub.Get(ctx, client.ObjectKey{Name: member.Name}, mc)
			admission := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionAdmissionReady)
			return stack.IsReady(mc.Status.Conditions) && admission != nil && admission.Status == metav1.ConditionTrue &&
				admission.Reason == v1alpha1.ReasonAdmissionInstalled, err
		}, func() string { return fmt.Sprint(mc.Status.Conditions) })
		await.Until(t, "VmGroups to be served by "+member.Name, func(ctx context.Context) (bool, error) {
			err := member.Create(ctx, newGroup("never", 1), client.DryRunAll)
			return err == nil, err
		})
	}
}

// tokenKubeconfig is a kubeconfig made from a ServiceAccount.
func tokenKubeconfig(ctx context.Context, cluster *stack.Cluster, namespace, account string) ([]byte, error) {
	token, err := tokenOf(ctx, cluster, namespace, account)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.Load(cluster.Kubeconfig())
	if err != nil {
		return nil, err
	}
	for _, user := range config.AuthInfos {
		user.ClientCertificateData, user.ClientKeyData, user.Token = nil, nil, token
	}
	return clientcmd.Write(*config)
}

func tokenOf(ctx context.Context, cluster *stack.Cluster, namespace, account string) (string, error) {
	token := &authenticationv1.TokenRequest{}
	object := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	err := cluster.SubResource("token").Create(ctx, object, token)
	return token.Status.Token, err
}

func groupsBecomeVMsAndPolicyHolds(t *testing.T) {
	for _, member := range world.members {
		must(t, createGroups(t.Context(), member))
	}
	untilFulfilled(t)
	for _, member := range world.members {
		tooLarge := newGroup("too-large", 1)
		tooLarge.Spec.CPU = 64
		refused(t, member, tooLarge, "spec.cpu", "exceeds the maximum 4", `VmGroupPolicy "default"`)
		otherTemplate := newGroup("other-template", 1)
		otherTemplate.Spec.Template = "windows-11"
		refused(t, member, otherTemplate, "spec.template", `VmGroupPolicy "default"`)
	}
	oneAtATime(t)
}

// helmTest runs the release's own test.
func helmTest(t *testing.T) {
	out, err := world.helm.run(t.Context(), "test", release, "--logs", "--timeout="+helmPatience)
	must(t, err)
	world.heard(out)
	if !strings.Contains(out, "Succeeded") {
		t.Errorf("helm test printed no success:\n%s", out)
	}
	readMetrics(t)
}

// readMetrics reads the metrics of each Pod without authentication, as a user without the permission, and as one
// with it.
func readMetrics(t *testing.T) {
	t.Helper()
	must(t, client.IgnoreAlreadyExists(world.hub.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "reader"}})))
	reader, err := tokenOf(t.Context(), world.hub.cluster, "default", "reader")
	must(t, err)
	stranger, err := tokenOf(t.Context(), world.hub.cluster, "default", "default")
	must(t, err)
	for _, pod := range pods(t) {
		for token, want := range map[string]int{"": 401, stranger: 403, reader: 200} {
			status, text, err := metrics(t.Context(), pod.Status.PodIP, token)
			must(t, err)
			if status != want {
				t.Errorf("Pod %s answers %d, want %d: %s", pod.Name, status, want, text)
			}
			world.heard(text)
			if want == 200 && !strings.Contains(text, "vmgroup_") {
				t.Errorf("Pod %s has no metrics of ours", pod.Name)
			}
		}
	}
}

func metrics(ctx context.Context, address, token string) (int, string, error) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // each Pod creates its own certificate
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+":8443/metrics", nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Do(request)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), errors.Join(err, response.Body.Close())
}
