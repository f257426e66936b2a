package operator_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"testing"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
	"github.com/codeconnect/vmgroup-operator/hack/image/operator"
)

// fileOf returns a file of the image.
func fileOf(t *testing.T, path string) oci.File {
	t.Helper()
	image := operator.Image("manager", "linux/amd64", operator.Release{Version: "v1.2.3"})
	at := slices.IndexFunc(image.Files, func(file oci.File) bool { return file.Path == path })
	if at < 0 {
		t.Fatalf("the image has no %s", path)
	}
	return image.Files[at]
}

func TestImageKnowsItsUser(t *testing.T) {
	if line := "nonroot:x:65532:65532:"; !bytes.Contains(fileOf(t, "/etc/passwd").Content, []byte("\n"+line)) {
		t.Errorf("/etc/passwd has no line %s", line)
	}
	if line := "nonroot:x:65532:"; !bytes.Contains(fileOf(t, "/etc/group").Content, []byte("\n"+line)) {
		t.Errorf("/etc/group has no line %s", line)
	}
	image := operator.Image("manager", "linux/arm64", operator.Release{})
	if image.User != "65532:65532" || image.Platform != "linux/arm64" || image.Programs[0].Path != "/manager" {
		t.Errorf("image %+v", image)
	}
}

func TestImageSaysWhatItIs(t *testing.T) {
	release := operator.Release{Version: "v1.2.3", Revision: "abc", Created: time.Unix(1, 0)}
	image := operator.Image("manager", "linux/amd64", release)
	for label, want := range map[string]string{
		"version": "v1.2.3", "revision": "abc", "title": "vmgroup-operator", "licenses": "Apache-2.0",
		"source": "https://github.com/codeconnect/vmgroup-operator",
	} {
		if got := image.Labels["org.opencontainers.image."+label]; got != want {
			t.Errorf("label %s is %q, want %q", label, got, want)
		}
	}
	if !image.Created.Equal(release.Created) {
		t.Errorf("created %v, want %v", image.Created, release.Created)
	}
	without := operator.Image("manager", "linux/amd64", operator.Release{Version: "v1.2.3"})
	if revision, there := without.Labels["org.opencontainers.image.revision"]; there {
		t.Errorf("revision %q without one", revision)
	}
}

// TestImageTrustsWhomMozillaTrusts reads the file as Go does. The file must not contain excluded CAs.
func TestImageTrustsWhomMozillaTrusts(t *testing.T) {
	content := fileOf(t, "/etc/ssl/certs/ca-certificates.crt").Content
	trusted := map[string]bool{}
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if !certificate.IsCA {
			t.Errorf("%s is no certificate authority", certificate.Subject)
		}
		trusted[string(certificate.Raw)] = true
	}
	expected := 0
	for root := range bundle.Roots() {
		switch {
		case root.Constraint == nil && !trusted[string(root.Certificate)]:
			t.Error("a certificate authority is missing")
		case root.Constraint != nil && trusted[string(root.Certificate)]:
			t.Error("a certificate authority that is trusted with a condition is there without it")
		case root.Constraint == nil:
			expected++
		}
	}
	const fewest = 100
	if len(trusted) != expected || expected < fewest {
		t.Errorf("%d certificate authorities, want %d, and at least %d", len(trusted), expected, fewest)
	}
}
