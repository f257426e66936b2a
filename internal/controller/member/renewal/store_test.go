package renewal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
)

// empty are the Secrets that the operator's manifests create.
func empty() []client.Object {
	all := make([]client.Object, 0, shards)
	for _, name := range Secrets() {
		all = append(all, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: name}})
	}
	return all
}

func TestStoredTokensBelongToOneIdentityAndOneKubeconfig(t *testing.T) {
	hub := fake.NewClientBuilder().WithObjects(empty()...).Build()
	s := NewStore(hub, "operator")
	get := func(member, identity, fingerprint string) string {
		t.Helper()
		token, err := s.Get(t.Context(), member, identity, fingerprint)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	if got := get("a", credential.Member, "f"); got != "" {
		t.Errorf("an empty Store has %q", got)
	}
	put := func(member, identity, token string) {
		t.Helper()
		if err := s.Put(t.Context(), member, identity, "f", token); err != nil {
			t.Fatal(err)
		}
	}
	put("a", credential.Member, "first")
	put("a", credential.Bootstrap, "bootstrap")
	put("a", credential.Member, "second")
	// A name can begin with another one.
	put("a.b", credential.Member, "longer")
	for want, of := range map[string][3]string{
		"second": {"a", credential.Member, "f"}, "bootstrap": {"a", credential.Bootstrap, "f"}, "longer": {"a.b", credential.Member, "f"},
	} {
		if got := get(of[0], of[1], of[2]); got != want {
			t.Errorf("%v is %q, want %q", of, got, want)
		}
	}
	if got := get("a", credential.Member, "another server"); got != "" {
		t.Errorf("the token %q is returned for another kubeconfig", got)
	}
	if err := s.Drop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if get("a", credential.Member, "f")+get("a", credential.Bootstrap, "f") != "" || get("a.b", credential.Member, "f") != "longer" {
		t.Error("Drop leaves tokens of the member, or deletes those of another one")
	}
}

func TestAnUnreadableEntryIsNoToken(t *testing.T) {
	name := SecretOf("a")
	hub := fake.NewClientBuilder().WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: name}, Data: map[string][]byte{keyOf("a", credential.Member): []byte("{")},
	}).Build()
	s := NewStore(hub, "operator")
	if token, err := s.Get(t.Context(), "a", credential.Member, ""); token != "" || err != nil {
		t.Errorf("got %q, %v", token, err)
	}
	if err := s.Put(t.Context(), "a", credential.Member, "f", "new"); err != nil {
		t.Fatal(err)
	}
	if token, err := s.Get(t.Context(), "a", credential.Member, "f"); token != "new" || err != nil {
		t.Errorf("got %q, %v", token, err)
	}
}

// TestATokenIsDroppedAlthoughTheCacheIsOutdated: another write came a moment before.
func TestATokenIsDroppedAlthoughTheCacheIsOutdated(t *testing.T) {
	conflicts := 0
	hub := fake.NewClientBuilder().WithObjects(empty()...).WithInterceptorFuncs(interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.UpdateOption) error {
			if conflicts--; conflicts >= 0 {
				return apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, object.GetName(), errors.New("changed"))
			}
			return c.Update(ctx, object, opts...)
		},
	}).Build()
	s := NewStore(hub, "operator")
	if err := s.Put(t.Context(), "a", credential.Member, "f", "token"); err != nil {
		t.Fatal(err)
	}
	conflicts = 2
	if err := s.Drop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{}
	if err := hub.Get(t.Context(), types.NamespacedName{Namespace: "operator", Name: SecretOf("a")}, secret); err != nil || len(secret.Data) > 0 {
		t.Errorf("the Secret has %v, error %v", secret.Data, err)
	}
}

func TestMembersShareTheSecretsThatTheOperatorMayWrite(t *testing.T) {
	used := map[string]int{}
	for i := range 800 {
		used[SecretOf(fmt.Sprintf("member-%d", i))]++
	}
	for _, name := range Secrets() {
		if used[name] < 50 {
			t.Errorf("%s has %d of 800 members", name, used[name])
		}
		delete(used, name)
	}
	if len(used) > 0 {
		t.Errorf("there are others: %v", used)
	}
}

func TestAMissingSecretIsNamed(t *testing.T) {
	s := NewStore(fake.NewClientBuilder().Build(), "operator")
	if err := s.Put(t.Context(), "a", credential.Member, "f", "token"); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), SecretOf("a")) {
		t.Errorf("the error is %v", err)
	}
	if err := s.Drop(t.Context(), "a"); err != nil {
		t.Errorf("nothing is to be dropped: %v", err)
	}
}
