//go:build unix

package objects

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"flag"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

var update = flag.Bool("update", false, "write the golden files")

// complete is the input of a member with all objects.
func complete(t *testing.T) Input {
	t.Helper()
	set := policy.Compile([]v1alpha1.VmGroupPolicy{limited("small", 4, "8Gi", 5, "linux-*", "/DC0/vm/images/*")})
	limits, err := Compile(set, "team-a")
	if err != nil {
		t.Fatal(err)
	}
	return Input{
		Limits: limits, Member: "team-a", WebhookBase: "https://vmgroups.example.com", Segment: "0123456789abcdef0123456789abcdef",
		CABundle: authority(t, 1), FailurePolicy: v1alpha1.AdmissionIgnore, ServesMutatingPolicies: true,
		Exempt: []string{"system:serviceaccount:vmgroup-operator:vmgroup-operator-member", "system:serviceaccount:vmgroup-operator:vmgroup-operator-bootstrap"},
	}
}

func authority(t *testing.T, serial int64) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestACallIsGivenUpLaterWhereThatRefusesTheWrite: a distant hub is no reason to refuse.
func TestACallIsGivenUpLaterWhereThatRefusesTheWrite(t *testing.T) {
	for policy, want := range map[v1alpha1.AdmissionFailurePolicy]int32{"": 1, v1alpha1.AdmissionIgnore: 1, v1alpha1.AdmissionFail: 3} {
		in := complete(t)
		in.FailurePolicy = policy
		w, problem := newWebhooks(in)
		if problem != "" {
			t.Fatal(problem)
		}
		if defaults, verdict := *w.mutating().Webhooks[0].TimeoutSeconds, *w.validating().Webhooks[0].TimeoutSeconds; defaults != want || verdict != want {
			t.Errorf("%q: defaults %d s, verdict %d s, want %d", policy, defaults, verdict, want)
		}
	}
}

// TestWhatAMemberGets compares everything except the certificate with testdata/member.yaml, where users can read it.
func TestWhatAMemberGets(t *testing.T) {
	in := complete(t)
	bundle, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	documents := make([]string, 0, len(bundle.Objects))
	for _, object := range bundle.Objects {
		content, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(content))
	}
	got := strings.Join(documents, "---\n")
	var lines []string
	for line := range strings.Lines(got) {
		if strings.HasPrefix(strings.TrimSpace(line), "caBundle: ") {
			line = strings.Split(line, "caBundle: ")[0] + "caBundle: (certificates)\n"
		}
		lines = append(lines, line)
	}
	got = strings.Join(lines, "")
	golden := filepath.Join("testdata", "member.yaml")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("go test ./internal/admission/objects -run TestWhatAMemberGets -update writes the file anew (-want +got):\n%s", diff)
	}
}

func TestTheSameInputGivesTheSameObjects(t *testing.T) {
	in := complete(t)
	first, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(in.Exempt)
	in.Exempt = append(in.Exempt, in.Exempt[0])
	second, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the order of usernames must not matter:\n%s", diff)
	}
}

func TestObjectsAreInstalledInTheReverseOrderOfTheirRemoval(t *testing.T) {
	bundle, err := Render(complete(t))
	if err != nil {
		t.Fatal(err)
	}
	rank := map[string]int{}
	for i, known := range Known() {
		rank[known.Kind+" "+known.Name] = i
	}
	if len(bundle.Objects) != len(rank) {
		t.Errorf("%d objects are rendered, %d are known", len(bundle.Objects), len(rank))
	}
	stage := func(kind string) int {
		switch {
		case strings.HasSuffix(kind, "WebhookConfiguration"):
			return 0
		case strings.HasSuffix(kind, "Binding"):
			return 1
		case strings.HasSuffix(kind, "Policy"):
			return 2
		}
		return 3
	}
	last := 3
	for i, object := range bundle.Objects {
		name := object.GetKind() + " " + object.GetName()
		if i == len(bundle.Objects)-4 {
			last = 3 // the guards of deletions come last of all, so that a member whose roles forbid them lacks no other object
		}
		if guard := strings.HasPrefix(object.GetName(), DeletionName); guard != (i >= len(bundle.Objects)-4) {
			t.Errorf("%s is object %d of %d", name, i, len(bundle.Objects))
		}
		if _, ok := rank[name]; !ok {
			t.Errorf("%s is rendered and would never be removed", name)
		}
		if now := stage(object.GetKind()); now > last {
			t.Errorf("%s comes too late", name)
		} else {
			last = now
		}
	}
	last = 0
	for _, known := range Known() {
		if now := stage(known.Kind); now < last {
			t.Errorf("%s %s is removed too late", known.Kind, known.Name)
		} else {
			last = now
		}
	}
}

func TestWithoutURLOrCertificateThereIsNoWebhook(t *testing.T) {
	for _, c := range []struct {
		story  string
		change func(*Input)
		says   string
	}{
		{"no URL", func(in *Input) { in.WebhookBase = "" }, "spec.admission.url"},
		{"no certificate", func(in *Input) { in.CABundle = nil }, "no certificate"},
		{"no usable certificate", func(in *Input) { in.CABundle = []byte("nonsense") }, "no certificate"},
		{"no segment", func(in *Input) { in.Segment = "" }, "no certificate"},
		{"http", func(in *Input) { in.WebhookBase = "http://hub.example.com" }, "must be https"},
		{"query", func(in *Input) { in.WebhookBase = "https://hub.example.com/?a=b" }, "must be https"},
		{"empty query", func(in *Input) { in.WebhookBase = "https://hub.example.com/?" }, "must be https"},
		{"fragment", func(in *Input) { in.WebhookBase = "https://hub.example.com/#a" }, "must be https"},
		{"user", func(in *Input) { in.WebhookBase = "https://me@hub.example.com" }, "must be https"},
		{"no host", func(in *Input) { in.WebhookBase = "https:///path" }, "must be https"},
	} {
		in := complete(t)
		c.change(&in)
		bundle, err := Render(in)
		if err != nil {
			t.Errorf("%s: %v", c.story, err)
			continue
		}
		if !strings.Contains(bundle.NoWebhook, c.says) || bundle.CABundleHash != "" {
			t.Errorf("%s: says %q, hash %q", c.story, bundle.NoWebhook, bundle.CABundleHash)
		}
		for _, object := range bundle.Objects {
			if strings.HasSuffix(object.GetKind(), "WebhookConfiguration") {
				t.Errorf("%s: %s is rendered", c.story, object.GetKind())
			}
		}
	}
}

func TestASlashAfterTheHubsHostIsLeftOut(t *testing.T) {
	for base, want := range map[string]string{
		"https://hub.example.com":        "https://hub.example.com",
		"https://hub.example.com:8443//": "https://hub.example.com:8443",
	} {
		if got, problem := parseBase(base); got != want || problem != "" {
			t.Errorf("parseBase(%q) = %q, %q", base, got, problem)
		}
	}
}

func TestWithoutAnIdentityNothingIsRendered(t *testing.T) {
	in := complete(t)
	in.Exempt = nil
	if _, err := Render(in); !errors.Is(err, ErrNoIdentity) {
		t.Errorf("error %v", err)
	}
}

func TestMembersWithoutMutatingPoliciesGetNone(t *testing.T) {
	in := complete(t)
	in.ServesMutatingPolicies = false
	bundle, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range bundle.Objects {
		if strings.HasPrefix(object.GetKind(), "MutatingAdmission") {
			t.Errorf("%s is rendered", object.GetKind())
		}
	}
}

func TestTheHashOfABundleIsThatOfItsCertificates(t *testing.T) {
	a, b := authority(t, 1), authority(t, 2)
	whole := BundleHash(slices.Concat(a, b))
	if len(whole) != 64 {
		t.Errorf("hash %q", whole)
	}
	for what, same := range map[string][]byte{
		"order":      slices.Concat(b, a),
		"repetition": slices.Concat(a, b, a),
		"comments":   slices.Concat([]byte("# old\n"), a, []byte("\n# new\n"), b),
		"a key":      slices.Concat(a, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}), b),
	} {
		if BundleHash(same) != whole {
			t.Errorf("%s changes the hash", what)
		}
		if got := trust.BundleHash(trust.ParseAuthorities(same)); got != whole {
			t.Errorf("%s: trust.BundleHash returns %q", what, got)
		}
	}
	if BundleHash(a) == whole || BundleHash(b) == whole || BundleHash(a) == BundleHash(b) {
		t.Error("another bundle has the same hash")
	}
	if got := BundleHash(bytes.ToLower(a)) + BundleHash(nil); got != "" {
		t.Errorf("hash of nothing is %q", got)
	}
}
