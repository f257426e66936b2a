//go:build !fast

package command

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/logins"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// vcenterCheckRig is a check of a VCenter of a hub, at a simulator in the same process. It is used in a bubble.
type vcenterCheckRig struct {
	*testing.T
	sim    *sim.Simulator
	hub    client.Client
	memory logins.Store
	check  vcenterCheck
}

func newVCenterCheckRig(t *testing.T, password string) *vcenterCheckRig {
	t.Helper()
	s, err := sim.Start(sim.Options{Password: "right"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	vc := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: v1alpha1.VCenterSpec{
		Server: "http://127.0.0.1:1", TLS: &v1alpha1.TLSConfig{InsecureSkipVerify: true}, CredentialsSecretRef: v1alpha1.LocalObjectReference{Name: "vc-creds"},
	}}
	vc.Status.VMs = 7
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: "vc-creds"}, Data: map[string][]byte{"VC_HOST": []byte(vc.Spec.Server), "username": []byte("user"), "password": []byte(password)}}
	return &vcenterCheckRig{
		T: t, sim: s, memory: new(logins.Memory),
		hub:   clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithStatusSubresource(vc).WithObjects(vc, secret).Build(),
		check: vcenterCheck{namespace: "operator", version: "v9", output: "table", columns: 120, timeout: 5 * time.Minute, settle: time.Minute, probeTime: time.Minute},
	}
}

// run checks the VCenter, in virtual time.
func (r *vcenterCheckRig) run(ctx context.Context) (said string, err error) {
	out := &bytes.Buffer{}
	run := vcenterRun{o: &r.check, name: "default", hub: r.hub, memory: r.memory, transport: r.sim.Transport()}
	err = run.ofVCenter(ctx, out)
	return out.String(), err
}

func (r *vcenterCheckRig) status() v1alpha1.VCenterStatus {
	r.Helper()
	vc := &v1alpha1.VCenter{}
	if err := r.hub.Get(r.Context(), client.ObjectKey{Name: "default"}, vc); err != nil {
		r.Fatal(err)
	}
	return vc.Status
}

func TestACheckThatPassesIsInTheStatusOfTheVCenter(t *testing.T) {
	r := newVCenterCheckRig(t, "right")
	synctest.Test(t, func(t *testing.T) {
		said, err := r.run(t.Context())
		if err != nil {
			t.Fatalf("%v:\n%s", err, said)
		}
		status := r.status()
		if c := status.Check; c == nil || !c.Time.Equal(&metav1.Time{Time: time.Now().Add(-time.Minute)}) || c.Version == "" || c.Build == "" || c.Operator != r.check.version || c.Warnings != 1 /* DRS is off */ {
			t.Errorf("status.check is %+v; the check said\n%s", c, said)
		}
		if status.VMs != 7 {
			t.Errorf("the rest of status changed: %+v", status)
		}
		if n := r.sim.HTTPSessions(); len(n) > 1 { // sessions of requests without a login stay until they are idle
			t.Errorf("sessions stay: %v", n)
		}
	})
}

func TestACheckThatFailsLeavesTheLastOneInStatus(t *testing.T) {
	r := newVCenterCheckRig(t, "wrong")
	synctest.Test(t, func(t *testing.T) {
		if said, err := r.run(t.Context()); !errors.Is(err, errVCenterFails) || !strings.Contains(said, "FAIL  login") || ExitCode(err) != 1 {
			t.Errorf("%v:\n%s", err, said)
		}
		if c := r.status().Check; c != nil {
			t.Errorf("status.check is %+v", c)
		}
	})
}

func TestAPasswordThatVCenterRejectedIsNeverTriedByACheckAgain(t *testing.T) {
	r := newVCenterCheckRig(t, "wrong")
	synctest.Test(t, func(t *testing.T) {
		for range 5 {
			if said, err := r.run(t.Context()); !errors.Is(err, errVCenterFails) {
				t.Errorf("%v:\n%s", err, said)
			}
			<-time.After(20 * time.Minute)
		}
		if rejected, _ := r.sim.RejectedLogins(); rejected != 1 {
			t.Errorf("%d logins were rejected", rejected)
		}
		// The operator manages it.
		operator := logins.New(logins.Options{Store: r.memory, Boot: "operator", Now: time.Now})
		book, err := r.memory.Load(t.Context())
		if err != nil || len(book.Accounts) != 1 {
			t.Errorf("the memory has %v: %v", book.Accounts, err)
		}
		if try, err := operator.Gate("http://127.0.0.1:1/sdk", "user", "wrong", "").Enter(t.Context()); err != nil {
			t.Errorf("an hour later the operator may try: %v", err)
		} else {
			_ = try.End(t.Context(), logins.Failed)
		}
	})
}

// noMemory is the login memory of a hub without the Secret.
type noMemory struct{ logins.Store }

func (noMemory) Load(context.Context) (logins.Book, error) { return logins.Book{}, logins.ErrNoStore }

func TestWithoutTheMemoryOfLoginsACheckSendsNone(t *testing.T) {
	r := newVCenterCheckRig(t, "wrong")
	r.memory = noMemory{}
	synctest.Test(t, func(t *testing.T) {
		if said, err := r.run(t.Context()); !errors.Is(err, errVCenterFails) || !strings.Contains(said, "manifests") {
			t.Errorf("%v:\n%s", err, said)
		}
		if rejected, _ := r.sim.RejectedLogins(); rejected != 0 {
			t.Errorf("%d logins were rejected", rejected)
		}
	})
}
