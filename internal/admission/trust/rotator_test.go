package trust

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust/trusttest"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// bench is a Rotator with a hub, files and time that a test sets.
type bench struct {
	*Rotator
	t         *testing.T
	hub       client.WithWatch
	now       time.Time
	leading   shardingtest.Leader
	offer     Offer
	delivered []map[string][]byte
	changes   int
	behind    []Behind
	forced    [][]string
	writes    int
	// before a write reaches the hub.
	before func()
}

func (b *bench) MemberBehind(_ context.Context, behind Behind) { b.behind = append(b.behind, behind) }
func (b *bench) LeafSwitched(_ context.Context, _ *Leaf, forced []string) {
	b.forced = append(b.forced, forced)
}

// Offer and SetState implement Certificates, Replicas implements Peers.
func (b *bench) Offer() Offer                    { return b.offer }
func (b *bench) SetState(data map[string][]byte) { b.delivered = append(b.delivered, data) }
func (b *bench) Replicas() []Replica {
	return []Replica{{Process: "p", Serving: ServingLeaf(b.offer.Leaf)}}
}

func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	scheme := allkinds.Scheme()
	b := &bench{t: t, now: certain.Add(day), leading: true}
	b.hub = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	write := func() {
		b.writes++
		if b.before != nil {
			b.before()
		}
	}
	b.Rotator = b.replica(interceptor.NewClient(b.hub, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			write()
			return c.Apply(ctx, obj, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			write()
			return c.Update(ctx, obj, opts...)
		},
	}))
	return b
}

// replica is another process with the same files and hub.
func (b *bench) replica(hub client.Client) *Rotator {
	return NewRotator(Options{
		Namespace: "operator", Client: hub, Leader: &b.leading, Certificates: b, Peers: b,
		Random: bytes.NewReader(bytes.Repeat([]byte{1, 2, 3, 4}, 100)), Now: func() time.Time { return b.now },
		Limits: limits, Period: DefaultPeriod, Resync: time.Minute, Events: b, Log: logr.Discard(),
		Changed: func() { b.changes++ },
	})
}

func (b *bench) files(a *trusttest.Authority, from, to time.Duration) {
	leaf := parse(b.t, newPair(b.t, a, from, to))
	b.offer = Offer{Leaf: leaf, Authorities: ParseAuthorities(a.PEM)}
}

func (b *bench) pass() {
	b.t.Helper()
	if _, err := b.step(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) secret() *corev1.Secret {
	b.t.Helper()
	var s corev1.Secret
	err := b.hub.Get(b.t.Context(), client.ObjectKey{Namespace: "operator", Name: SecretName}, &s)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return &s
}

func twoAuthorities(t *testing.T) (a, b *trusttest.Authority) {
	t.Helper()
	return trusttest.NewAuthority(t, certain, certain.Add(1000*day)), trusttest.NewAuthority(t, certain.Add(day), certain.Add(1000*day))
}

func TestTheLeaderWritesTheSecretOnce(t *testing.T) {
	b := newBench(t)
	a, _ := twoAuthorities(t)
	b.files(a, 0, 100*day)
	if _, ok := b.Bundle(); ok || b.Known() {
		t.Error("a bundle is known before anything was read")
	}
	b.pass()
	if b.writes != 1 || len(b.delivered) != 1 || b.delivered[0] != nil {
		t.Fatalf("%d writes; delivered: %v", b.writes, b.delivered)
	}
	if _, _, ok := b.Segment("m", "u", false); ok {
		t.Error("a key is used that was not read back")
	}
	b.pass()
	bundle, ok := b.Bundle()
	segment, _, known := b.Segment("m", "u", true)
	if !ok || !bytes.Equal(bundle, a.PEM) || !known || segment != Segment(bytes.Repeat([]byte{1, 2, 3, 4}, 8), "m", "u", 0) {
		t.Errorf("bundle %t, segment %q", ok, segment)
	}
	if len(b.delivered) != 2 || !bytes.Equal(b.delivered[1][KeyServedCert], b.offer.Leaf.Pair.Certificate) || b.changes != 2 {
		t.Errorf("delivered %d times, notified of %d changes", len(b.delivered), b.changes)
	}
	b.pass()
	if b.writes != 1 || len(b.delivered) != 2 || b.changes != 2 {
		t.Errorf("at rest: %d writes, delivered %d times, notified of %d changes", b.writes, len(b.delivered), b.changes)
	}
	if len(b.forced) != 1 || b.forced[0] != nil {
		t.Errorf("events of switches: %v", b.forced)
	}
}

func TestAFollowerWritesNothing(t *testing.T) {
	b := newBench(t)
	a, _ := twoAuthorities(t)
	b.files(a, 0, 100*day)
	b.leading = false
	b.pass()
	b.pass()
	if b.writes != 0 || b.secret() != nil {
		t.Errorf("%d writes", b.writes)
	}
	if len(b.delivered) != 1 || !b.Known() {
		t.Errorf("delivered %d times, known: %t", len(b.delivered), b.Known())
	}
}

func TestWhatIsDeletedOrDamagedIsPutBack(t *testing.T) {
	for name, harm := range map[string]func(b *bench, s *corev1.Secret) error{
		"deleted": func(b *bench, s *corev1.Secret) error { return b.hub.Delete(b.t.Context(), s) },
		"emptied": func(b *bench, s *corev1.Secret) error { s.Data = nil; return b.hub.Update(b.t.Context(), s) },
		"no key":  func(b *bench, s *corev1.Secret) error { delete(s.Data, KeyPath); return b.hub.Update(b.t.Context(), s) },
		"no leaf": func(b *bench, s *corev1.Secret) error {
			delete(s.Data, KeyServedKey)
			return b.hub.Update(b.t.Context(), s)
		},
		"no trust": func(b *bench, s *corev1.Secret) error {
			s.Data[KeyAuthorities] = []byte("?")
			return b.hub.Update(b.t.Context(), s)
		},
		"no memories": func(b *bench, s *corev1.Secret) error {
			delete(s.Data, KeyBundles)
			return b.hub.Update(b.t.Context(), s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			first, second := twoAuthorities(t)
			b.files(first, 0, 100*day)
			b.pass()
			b.pass()
			before := maps.Clone(b.secret().Data)
			b.files(second, 2*day, 100*day) // which must not be accepted just because an entry is missing
			if err := harm(b, b.secret()); err != nil {
				t.Fatal(err)
			}
			b.pass()
			for _, key := range []string{KeyPath, KeyServedCert, KeyServedKey} {
				if !bytes.Equal(b.secret().Data[key], before[key]) {
					t.Errorf("%s is another one", key)
				}
			}
			if all := ParseAuthorities(b.secret().Data[KeyAuthorities]); len(all) != 2 {
				t.Errorf("members trust %d authorities, want the old and the new one", len(all))
			}
			if !bytes.Equal(b.delivered[len(b.delivered)-1][KeyPath], before[KeyPath]) && name == "deleted" {
				t.Error("replicas received an empty Secret")
			}
		})
	}
}

func TestWritesAreComparedWithWhatWasRead(t *testing.T) {
	b := newBench(t)
	a, _ := twoAuthorities(t)
	b.files(a, 0, 100*day)
	b.before = func() { // another replica is faster
		b.before = nil
		other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: SecretName}, Data: map[string][]byte{KeyPath: bytes.Repeat([]byte{9}, keyLength)}}
		if err := b.hub.Create(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	b.pass()
	if len(b.forced) != 0 {
		t.Error("a switch was reported that was not written")
	}
	b.before = func() {
		b.before = nil
		s := b.secret()
		s.Labels = map[string]string{"changed": "meanwhile"}
		if err := b.hub.Update(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	b.pass()
	b.pass()
	s := b.secret()
	if !bytes.Equal(s.Data[KeyPath], bytes.Repeat([]byte{9}, keyLength)) || s.Labels["changed"] == "" || len(s.Data[KeyServedCert]) == 0 {
		t.Errorf("the other's write was lost, or ours never came: %v", slices.Sorted(maps.Keys(s.Data)))
	}
	if b.writes != 3 {
		t.Errorf("%d writes, want two that were refused and one", b.writes)
	}
}

func TestAnUnreadableHubDecidesNothing(t *testing.T) {
	b := newBench(t)
	a, _ := twoAuthorities(t)
	b.files(a, 0, 100*day)
	broken := errors.New("no answer")
	for name, funcs := range map[string]interceptor.Funcs{
		"members": {List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return broken }},
		"authority": {Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if key.Name == AuthoritySecretName {
				return broken
			}
			return c.Get(ctx, key, obj, opts...)
		}},
		"secret": {Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return broken
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := b.replica(interceptor.NewClient(b.hub, funcs))
			if _, err := l.step(t.Context()); !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
			if b.secret() != nil {
				t.Error("something was written")
			}
			if name == "secret" && l.Known() {
				t.Error("it calls itself known")
			}
		})
	}
}

func TestAuthorityOfCertManagerComesBeforeTheFile(t *testing.T) {
	own, other := twoAuthorities(t)
	third := trusttest.NewAuthority(t, certain, certain.Add(1000*day))
	b := newBench(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: AuthoritySecretName}, Data: map[string][]byte{"tls.crt": slices.Concat(own.PEM, third.PEM)},
	})
	b.files(other, 0, 100*day)
	b.offer.Authorities = ParseAuthorities(slices.Concat(other.PEM, third.PEM))
	b.pass()
	got := ParseAuthorities(b.secret().Data[KeyAuthorities])
	// Members must not trust the chain above the authority, or unneeded certificates in the file.
	if want := ParseAuthorities(slices.Concat(own.PEM, other.PEM)); !slices.Equal(names(got), names(want)) {
		t.Errorf("members trust %v, want %v", names(got), names(want))
	}
}

func TestMembersOf(t *testing.T) {
	member := func(change func(*v1alpha1.MemberCluster)) v1alpha1.MemberCluster {
		m := v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Status: v1alpha1.MemberClusterStatus{CABundleHash: "h"}}
		m.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
		change(&m)
		return m
	}
	for _, test := range []struct {
		name   string
		member v1alpha1.MemberCluster
		url    string
		want   []Member
	}{
		{"default URL", member(func(*v1alpha1.MemberCluster) {}), "https://x", []Member{{Name: "m", Acked: "h", Reachable: true}}},
		{"own URL", member(func(m *v1alpha1.MemberCluster) {
			m.Spec.Admission, m.Status.CABundleHash = &v1alpha1.MemberAdmission{URL: "https://y"}, ""
		}), "", []Member{{Name: "m", Reachable: true}}},
		{"no URL", member(func(m *v1alpha1.MemberCluster) { m.Status.CABundleHash = "" }), "", nil},
		{"no URL any more, the webhook is still there", member(func(*v1alpha1.MemberCluster) {}), "", []Member{{Name: "m", Acked: "h", Reachable: true}}},
		{"unreachable", member(func(m *v1alpha1.MemberCluster) { m.Status.Conditions[0].Status = metav1.ConditionUnknown }), "https://x", []Member{{Name: "m", Acked: "h"}}},
		{"managed by others", member(func(m *v1alpha1.MemberCluster) { m.Spec.Manage = v1alpha1.ManageNone }), "https://x", nil},
		{"leaving", member(func(m *v1alpha1.MemberCluster) { m.DeletionTimestamp = &metav1.Time{Time: certain} }), "https://x", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := MembersOf([]v1alpha1.MemberCluster{test.member}, test.url); !slices.Equal(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestAMemberThatIsBehindIsReportedOnceAndMeasured(t *testing.T) {
	first, second := twoAuthorities(t)
	m := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}, Spec: v1alpha1.MemberClusterSpec{Admission: &v1alpha1.MemberAdmission{URL: "https://hub"}}}
	m.Status.CABundleHash = BundleHash(ParseAuthorities(first.PEM))
	b := newBench(t, m)
	b.files(first, 0, 100*day)
	b.pass()
	b.now = b.now.Add(limits.Settle)
	b.files(second, 2*day, 100*day)
	b.pass()
	if len(b.behind) != 0 {
		t.Errorf("reported at once: %+v", b.behind)
	}
	for range 15 {
		b.now = b.now.Add(limits.Settle)
		b.pass()
	}
	if len(b.behind) != 1 || b.behind[0].Member != "m1" || b.behind[0].Broken {
		t.Errorf("reported: %+v", b.behind)
	}
	if all := b.Behind(); len(all) != 1 || b.Waiting() == "" {
		t.Errorf("behind: %+v, waiting: %q", all, b.Waiting())
	}
	measured := map[string]float64{}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(b.Rotator)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		measured[strings.TrimPrefix(family.GetName(), "vmgroup_admission_")] = family.GetMetric()[0].GetGauge().GetValue()
	}
	want := map[string]float64{
		"ca_bundle_oldest_ack_seconds":                     (15 * limits.Settle).Seconds(),
		"serving_certificate_expiration_timestamp_seconds": float64(certain.Add(100 * day).Unix()),
		"ca_expiration_timestamp_seconds":                  float64(certain.Add(1000 * day).Unix()),
	}
	if !maps.Equal(measured, want) {
		t.Errorf("measured %v, want %v", measured, want)
	}
	b.now = certain.Add(99 * day)
	b.pass()
	for range 11 {
		b.now = b.now.Add(limits.Settle)
		b.pass()
	}
	if n := len(b.forced); n != 2 || !slices.Equal(b.forced[1], []string{"m1"}) {
		t.Fatalf("switches: %v", b.forced)
	}
	if n := len(b.behind); n != 2 || !b.behind[1].Broken {
		t.Errorf("reported: %+v", b.behind)
	}
}
