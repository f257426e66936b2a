//go:build unix

package integration

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// judged creates a VCenter with its name in its Secret, and returns a function that waits for this status in Helm.
// Until then, Helm must report no other status than those, from the creation on.
func judged(t *testing.T, w *world, name string) func(want status.Status, reason string) {
	t.Helper()
	var standard v1alpha1.VCenter
	if err := w.Hub.Get(t.Context(), key("", "default"), &standard); err != nil {
		t.Fatal(err)
	}
	vcenter := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *standard.Spec.DeepCopy()}
	vcenter.Spec.Folder, vcenter.Spec.CredentialsSecretRef.Name = name, name
	if err := w.Hub.Create(t.Context(), vcenter); err != nil {
		t.Fatal(err)
	}
	removedAtTheEnd(t, w, vcenter)
	return func(want status.Status, reason string) {
		t.Helper()
		seen := &unstructured.Unstructured{}
		seen.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VCenter"))
		await.Until(t, name+" to be "+want.String()+" as "+reason, func(ctx context.Context) (bool, error) {
			if err := w.Hub.Get(ctx, client.ObjectKeyFromObject(vcenter), seen); err != nil {
				return false, err
			}
			result, err := status.Compute(seen)
			if err != nil {
				return false, err
			}
			if result.Status != want && result.Status != status.InProgressStatus {
				t.Fatalf("%s is %s (%s), want %s", name, result.Status, result.Message, want)
			}
			if err := w.Hub.Get(ctx, client.ObjectKeyFromObject(vcenter), vcenter); err != nil {
				return false, err
			}
			says := false
			for _, c := range vcenter.Status.Conditions {
				says = says || c.Type == v1alpha1.ConditionReady && c.Reason == reason
			}
			return result.Status == want && says, nil
		})
	}
}

func removedAtTheEnd(t *testing.T, w *world, object client.Object) {
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(w.Hub.Delete(context.Background(), object)); err != nil {
			t.Error(err)
		}
	})
}

func login(t *testing.T, w *world, name, username, password string) {
	t.Helper()
	var standard corev1.Secret
	if err := w.Hub.Get(t.Context(), key(stack.Namespace, "vc-creds"), &standard); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: stack.Namespace, Name: name, Annotations: standard.Annotations},
		Data:       map[string][]byte{},
	}
	for k, v := range standard.Data {
		secret.Data[k] = v
	}
	secret.Data["username"], secret.Data["password"] = []byte(username), []byte(password)
	if err := w.Hub.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	removedAtTheEnd(t, w, secret)
}

// TestHelmWaitsForASecretThatComesLate: the VCenter is not ready before the first reconciliation, and not failed while
// the Secret is missing.
func TestHelmWaitsForASecretThatComesLate(t *testing.T) {
	w := calm.enter(t)
	sameManager(t, w)
	until := judged(t, w, "late-secret")
	until(status.InProgressStatus, v1alpha1.ReasonSecretNotFound)
	login(t, w, "late-secret", stack.Username, stack.Password)
	until(status.CurrentStatus, v1alpha1.ReasonConnected)
}

// TestHelmFailsAtOnceOnAWrongPassword: time does not fix it.
func TestHelmFailsAtOnceOnAWrongPassword(t *testing.T) {
	w := calm.enter(t)
	sameManager(t, w)
	login(t, w, "wrong-password", "stranger@vsphere.local", "not-the-password")
	judged(t, w, "wrong-password")(status.FailedStatus, v1alpha1.ReasonInvalidLogin)
}
