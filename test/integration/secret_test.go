//go:build unix

package integration

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// listener is a server to which users who can write VCenters point one. It speaks like a vCenter up to the login,
// and records the requests.
type listener struct {
	mu   sync.Mutex
	sent []string
}

func (l *listener) called() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sent) > 0
}

func (l *listener) heard(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(strings.Join(l.sent, "\n"), what)
}

// listen is a proxy in front of a real simulator, so that a login gets as far as possible.
func listen(t *testing.T, target string) (*listener, *httptest.Server) {
	t.Helper()
	l := &listener{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		l.mu.Lock()
		l.sent = append(l.sent, fmt.Sprint(r.Header)+string(body))
		l.mu.Unlock()
		forward, err := http.NewRequestWithContext(r.Context(), r.Method, target, strings.NewReader(string(body)))
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		forward.Header = r.Header
		response, err := http.DefaultClient.Do(forward)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer func() { _ = response.Body.Close() }()
		for key, values := range response.Header {
			w.Header()[key] = values
		}
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	}))
	t.Cleanup(server.Close)
	return l, server
}

// A user who can write a VCenter, but cannot read Secrets, points it at a listener with the Secret of another vCenter.
func TestAVCenterThatPointsAtAListenerGetsNoPasswordOfAnother(t *testing.T) {
	w := calm.enter(t)
	sameManager(t, w)
	const password = "only-for-vc-example-com"
	l, server := listen(t, w.Sim.URL)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: stack.Namespace, Name: "of-another", Annotations: map[string]string{v1alpha1.VCenterHostsAnnotation: "vc.example.com"}},
		StringData: map[string]string{"username": stack.Username, "password": password, "VC_HOST": "vc.example.com"},
	}
	vc := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "listens"}, Spec: v1alpha1.VCenterSpec{
		Server: server.URL, Folder: "listens", TLS: &v1alpha1.TLSConfig{InsecureSkipVerify: true},
		CredentialsSecretRef: v1alpha1.LocalObjectReference{Name: secret.Name},
	}}
	for _, object := range []client.Object{secret, vc} {
		if err := w.Hub.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := client.IgnoreNotFound(w.Hub.Delete(context.Background(), object)); err != nil {
				t.Error(err)
			}
		})
	}
	until := func(what string, is func() bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := await.Condition(ctx, what, func(ctx context.Context) (bool, error) {
			return is(), w.Hub.Get(ctx, key("", vc.Name), vc)
		}); err != nil {
			t.Fatalf("%v; conditions: %s", err, stack.Words(vc.Status.Conditions))
		}
	}
	says := func(conditionType, reason string) bool {
		c := meta.FindStatusCondition(vc.Status.Conditions, conditionType)
		return c != nil && c.Reason == reason && strings.Contains(c.Message, "kubectl -n "+stack.Namespace+" annotate secret of-another")
	}
	until("the VCenter to say whose the Secret is, or the listener to hear", func() bool {
		return says(v1alpha1.ConditionReady, v1alpha1.ReasonSecretForAnotherHost) || l.heard(password)
	})
	if l.called() || l.heard(password) {
		t.Fatalf("the listener was called, and has the password: %t", l.heard(password))
	}

	// The key VC_HOST binds like the annotation, and a Secret that names no host is sent nowhere.
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}},"data":{"VC_HOST":null}}`, v1alpha1.VCenterHostsAnnotation))
	if err := w.Hub.Patch(t.Context(), secret, patch); err != nil {
		t.Fatal(err)
	}
	until("the VCenter to report a Secret without a host, or the listener to receive the password", func() bool {
		return says(v1alpha1.ConditionReady, v1alpha1.ReasonSecretWithoutHost) || l.heard(password)
	})
	patch = client.RawPatch("application/merge-patch+json", []byte(`{"stringData":{"VC_HOST":"vc.example.com"}}`))
	if err := w.Hub.Patch(t.Context(), secret, patch); err != nil {
		t.Fatal(err)
	}
	until("the VCenter to say that VC_HOST is another, or the listener to hear", func() bool {
		return says(v1alpha1.ConditionReady, v1alpha1.ReasonSecretForAnotherHost) || l.heard(password)
	})
	if l.called() {
		t.Fatalf("the listener was called, and has the password: %t", l.heard(password))
	}

	// With the annotation from the condition, it is bound to the listener: so the listener would have received the
	// password.
	patch = client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}},"stringData":{"password":%q}}`,
		v1alpha1.VCenterHostsAnnotation, strings.TrimPrefix(server.URL, "https://"), stack.Password))
	if err := w.Hub.Patch(t.Context(), secret, patch); err != nil {
		t.Fatal(err)
	}
	until("the VCenter to be ready", func() bool {
		return stack.IsReady(vc.Status.Conditions)
	})
	if !l.heard(stack.Password) {
		t.Error("the listener has not heard the password: the story shows nothing")
	}
}
