//go:build unix && !fast

package command

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/internal/check/health"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// TestTheCheckOfARealHub checks a hub before any installation and after a partial one.
func TestTheCheckOfARealHub(t *testing.T) {
	server, admin := realHub(t)
	mustRunCRDs(t, admin, remove)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "check-"}}
	if err := admin.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "manager"}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "vmgroup-operator"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "manager"}}}},
	}}
	if err := admin.Create(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	check := func(change func(*health.Options)) string {
		t.Helper()
		o := health.Options{Namespace: namespace.Name, Deployment: "vmgroup-operator"}
		if change != nil {
			change(&o)
		}
		out := &bytes.Buffer{}
		if err := health.Check(t.Context(), server.Config, o, out); !errors.Is(err, health.ErrUnhealthy) {
			t.Errorf("error %v of\n%s", err, out)
		}
		return out.String()
	}
	wants := func(said string, lines ...string) {
		t.Helper()
		for _, line := range lines {
			if !strings.Contains(strings.Join(strings.Fields(said), " "), line) {
				t.Errorf("it says\n%swhich lacks %q", said, line)
			}
		}
	}
	wants(check(nil), "ok API server Kubernetes v1.36", "FAIL kinds", "-> Run manager crds apply", "FAIL shard map cannot be read: there is none")
	mustRunCRDs(t, admin, apply)
	// The API server reports the kinds a moment after their CRDs are established.
	await.NoError(t, "all kinds to be served", func() error {
		if said := check(nil); !strings.Contains(said, "all 5 are served") {
			return errors.New(said)
		}
		return nil
	})
	shards, err := hub.New(server.Config, hub.Options{Namespace: namespace.Name})
	if err != nil {
		t.Fatal(err)
	}
	settings := ring.Settings{Buckets: 1, Hash: ring.HashName, Validity: 1, Patience: 2}
	made := shards.Do(t.Context(), protocol.CreateRing{Ring: ring.Ring{Settings: settings, Generation: 1, Rebuilt: 1, Sequence: 1, Buckets: make([]ring.Lock, 1)}})
	if made.Outcome != protocol.Done {
		t.Fatal(made.Err)
	}
	wants(check(nil), "ok kinds all 5 are served", "FAIL replicas 0 of 1 Pods are ready", "FAIL shard map 1 of 1 shares", "warn VCenter there is none")
	wants(check(func(o *health.Options) { o.Deployment = "other" }), "FAIL replicas Deployment "+namespace.Name+"/other cannot be read")
	wants(check(func(o *health.Options) { o.Replicas, o.Webhook.URL = 2, "https://127.0.0.1:1" }), "FAIL replicas 0 of 2 take a share", "FAIL webhooks")
}
