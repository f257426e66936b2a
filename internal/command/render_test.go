//go:build unix

package command

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/admission"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

func TestRenderPrintsWhatEveryMemberHas(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"render"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		crd.VmGroupName, crd.VmGroupLimitsName, "vmgroup-operator-member", "vmgroup-operator-bootstrap",
		"vmgroup-operator-vmgroups-view", "vmgroup-operator-vmgroups-edit",
	} {
		if !strings.Contains(out.String(), "name: "+name+"\n") {
			t.Errorf("%s is not printed", name)
		}
	}
}

func TestRenderLeaveAsksNobody(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nonexistent")
	var out bytes.Buffer
	if err := run(t.Context(), []string{"render", "--leave", "--member", "team-a"}, &out); err != nil {
		t.Fatal(err)
	}
	if out.String() != admission.LeaveScript("team-a") {
		t.Errorf("printed %s", out.String())
	}
}

func TestRenderRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"render", "extra"}, `unknown command "extra"`},
		{[]string{"render", "--nonsense"}, "nonsense"},
		{[]string{"render", "--writer="}, "must not be empty"},
	} {
		err := run(t.Context(), c.args, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %q", c.args, err, c.says)
		}
	}
}

// hubWith is a hub whose member has a webhook, and more.
func hubWith(t *testing.T, more ...client.Object) client.Client {
	t.Helper()
	scheme := allkinds.Scheme()
	mc := &v1alpha1.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "team-a", UID: "the-uid"},
		Spec: v1alpha1.MemberClusterSpec{
			Manage:    v1alpha1.ManageNone,
			Admission: &v1alpha1.MemberAdmission{URL: "https://hub.example.com", FailurePolicy: v1alpha1.AdmissionFail},
		},
		Status: v1alpha1.MemberClusterStatus{KubernetesVersion: "v1.36.3+k3s1"},
	}
	policy := &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: "small"}}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(more, mc, policy)...).Build()
}

func TestRenderMemberReadsWhatTheOperatorWouldInstall(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ours", Name: trust.SecretName},
		Data:       map[string][]byte{trust.KeyPath: key, trust.KeyAuthorities: testAuthority(t)},
	}
	o := renderOptions{member: "team-a", writers: []string{"gitops"}, namespace: "ours"}
	in, notes, err := readAdmission(t.Context(), hubWith(t, secret), o)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := objects.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := printAdmission(&out, o.member, notes, bundle); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"https://hub.example.com/clusters/team-a/" + trust.Segment(key, "team-a", "the-uid", 0) + "/validate",
		"failurePolicy: Fail", "kind: MutatingAdmissionPolicyBinding", "name: small",
		"'gitops'", "system:serviceaccount:vmgroup-operator:vmgroup-operator-bootstrap",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not printed", want)
		}
	}
	if len(notes) > 0 {
		t.Errorf("notes %q", notes)
	}
}

func TestRenderMemberSaysWhatIsMissing(t *testing.T) {
	o := renderOptions{member: "team-a", namespace: "ours"}
	hub := hubWith(t)
	mc := &v1alpha1.MemberCluster{}
	if err := hub.Get(t.Context(), client.ObjectKey{Name: "team-a"}, mc); err != nil {
		t.Fatal(err)
	}
	mc.Status.KubernetesVersion = "v1.35.1"
	if err := hub.Update(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
	in, notes, err := readAdmission(t.Context(), hub, o)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := objects.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "v1.35.1") || !strings.Contains(bundle.NoWebhook, "certificate") {
		t.Errorf("notes %q, no webhook %q", notes, bundle.NoWebhook)
	}
	o.member = "unknown"
	if _, _, err := readAdmission(t.Context(), hub, o); err == nil || !strings.Contains(err.Error(), "MemberCluster unknown") {
		t.Errorf("an unknown member: %v", err)
	}
}

func TestTheHubItselfHasTheOperatorsIdentity(t *testing.T) {
	if got := identitiesOf(v1alpha1.LocalMember, "ours"); len(got) != 1 || got[0] != "system:serviceaccount:ours:vmgroup-operator" {
		t.Errorf("identities %q", got)
	}
}

// testAuthority is the certificate of a new authority, as PEM.
func testAuthority(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
