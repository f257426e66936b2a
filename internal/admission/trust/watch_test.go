package trust

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestOnlyWhatIsReadWakesIt(t *testing.T) {
	b := newBench(t)
	informers := &informertest.FakeInformers{Scheme: b.hub.Scheme()}
	b.opts.Informers = informers
	if err := b.watch(t.Context()); err != nil {
		t.Fatal(err)
	}
	secrets, err := informers.FakeInformerFor(t.Context(), &corev1.Secret{})
	if err != nil {
		t.Fatal(err)
	}
	members, err := informers.FakeInformerFor(t.Context(), &v1alpha1.MemberCluster{})
	if err != nil {
		t.Fatal(err)
	}
	named := func(namespace, name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	for _, test := range []struct {
		name  string
		event func(secrets, members *controllertest.FakeInformer)
		wakes bool
	}{
		{"its Secret", func(s, _ *controllertest.FakeInformer) { s.Add(named("operator", SecretName)) }, true},
		{"its Secret is deleted", func(s, _ *controllertest.FakeInformer) { s.Delete(named("operator", SecretName)) }, true},
		{"the authority", func(s, _ *controllertest.FakeInformer) { s.Add(named("operator", AuthoritySecretName)) }, true},
		{"a Secret of that name elsewhere", func(s, _ *controllertest.FakeInformer) { s.Add(named("other", SecretName)) }, false},
		{"another Secret", func(s, _ *controllertest.FakeInformer) { s.Add(named("operator", "kubeconfig")) }, false},
		{"a member", func(_, m *controllertest.FakeInformer) {
			m.Update(&v1alpha1.MemberCluster{}, &v1alpha1.MemberCluster{})
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.event(secrets, members)
			woken := false
			select {
			case <-b.wake:
				woken = true
			default:
			}
			if woken != test.wakes {
				t.Errorf("woken: %t, want %t", woken, test.wakes)
			}
		})
	}
}
