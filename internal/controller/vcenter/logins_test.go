package vcenter

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/logins"
)

func emptyMemory() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: LoginSecret, ResourceVersion: "1"}}
}

func TestTheMemoryOfLoginsShowsNoPassword(t *testing.T) {
	hub := fake.NewClientset(emptyMemory())
	keeper := logins.New(logins.Options{Store: &LoginMemory{Client: hub.CoreV1().Secrets("operator")}, Boot: "boot", Now: time.Now})
	gate := keeper.Gate("https://vc.example.com/sdk", "op@vsphere.local", "s3cret", "")
	try, err := gate.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var refused *logins.Refused
	if err := try.End(t.Context(), logins.Rejected); !errors.As(err, &refused) || refused.Rejections != 1 {
		t.Errorf("after a rejection: %v", err)
	}
	// Another process has only the Secret.
	other := logins.New(logins.Options{Store: &LoginMemory{Client: hub.CoreV1().Secrets("operator")}, Boot: "other", Now: time.Now})
	if _, err := other.Gate("https://vc.example.com/sdk", "op@vsphere.local", "s3cret", "").Enter(t.Context()); !errors.As(err, &refused) || refused.Rejections != 1 {
		t.Errorf("another process: %v", err)
	}
	stored, err := hub.CoreV1().Secrets("operator").Get(t.Context(), LoginSecret, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(stored.Data[loginKey]) != 32 || !strings.Contains(string(stored.Data[loginBook]), "vc.example.com") {
		t.Errorf("stored is %q", stored.Data)
	}
	if strings.Contains(string(stored.Data[loginBook]), "s3cret") {
		t.Error("the password is in it")
	}
}

func TestWithoutACommonMemoryAReplicaHasOneRejectionInAQuarterOfAnHour(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, LoginSecret, errors.New("no"))
	for name, hub := range map[string]*fake.Clientset{"not there": fake.NewClientset(), "forbidden": fake.NewClientset(emptyMemory())} {
		t.Run(name, func(t *testing.T) {
			if name == "forbidden" {
				hub.PrependReactor("get", "secrets", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden })
			}
			now := time.Unix(1e9, 0)
			keeper := logins.New(logins.Options{
				Store: &LoginMemory{Client: hub.CoreV1().Secrets("operator")}, Boot: "boot", Now: func() time.Time { return now },
			})
			try, err := keeper.Gate("vc", "op", "one", "").Enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_ = try.End(t.Context(), logins.Rejected)
			var refused *logins.Refused
			if _, err := keeper.Gate("vc", "op", "two", "").Enter(t.Context()); !errors.As(err, &refused) || !refused.Next.Equal(now.Add(15*time.Minute)) {
				t.Errorf("a second password: %v", err)
			}
			now = now.Add(15 * time.Minute)
			if _, err := keeper.Gate("vc", "op", "two", "").Enter(t.Context()); err != nil {
				t.Errorf("a quarter of an hour later: %v", err)
			}
		})
	}
}

func TestWhatSomebodyElseWroteIntoTheMemoryOfLoginsCountsAsNothing(t *testing.T) {
	memory := emptyMemory()
	memory.Data = map[string][]byte{loginKey: []byte("short"), loginBook: []byte("{{")}
	hub := fake.NewClientset(memory)
	keeper := logins.New(logins.Options{Store: &LoginMemory{Client: hub.CoreV1().Secrets("operator")}, Boot: "boot", Now: time.Now})
	try, err := keeper.Gate("vc", "op", "p", "").Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := try.End(t.Context(), logins.Accepted); err != nil {
		t.Error(err)
	}
}
