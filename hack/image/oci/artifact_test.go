package oci_test

import (
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
)

// built makes an artifact about a subject.
func built(t *testing.T, kind, content string, subject *v1.Descriptor) v1.Image {
	t.Helper()
	artifact, err := oci.Artifact{Type: kind, Blobs: []oci.Blob{{MediaType: kind, Content: []byte(content), Title: "file"}}, Subject: subject}.Build()
	if err != nil {
		t.Fatal(err)
	}
	return artifact
}

// TestALayoutWithArtifactsIsCopiedWithTheirReferrers copies a layout to a registry twice, and asks it for the referrers.
func TestALayoutWithArtifactsIsCopiedWithTheirReferrers(t *testing.T) {
	made, dir := bundle(t, "hello:v1", twoImages(t)...), filepath.Join(t.TempDir(), "oci")
	first, err := oci.Describe(made.Images()[0])
	if err != nil {
		t.Fatal(err)
	}
	whole, err := made.Descriptor()
	if err != nil {
		t.Fatal(err)
	}
	chart := built(t, "text/chart", "chart", nil)
	described, err := oci.Describe(chart)
	if err != nil {
		t.Fatal(err)
	}
	if err := made.WriteLayout(dir,
		oci.Entry{Artifact: built(t, "text/sbom", "sbom", &first)}, oci.Entry{Artifact: built(t, "text/origin", "origin", &whole)},
		oci.Entry{Artifact: chart, Tag: "chart-v1"}, oci.Entry{Artifact: built(t, "text/origin", "origin", &described)},
	); err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err := index.IndexManifest(); err != nil || len(manifest.Manifests) != 5 || manifest.Manifests[3].Annotations["org.opencontainers.image.ref.name"] != "chart-v1" {
		t.Errorf("index.json is %+v, %v", manifest, err)
	}

	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)))
	t.Cleanup(server.Close)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	address := strings.TrimPrefix(server.URL, "http://")
	targets := map[string]string{"v1": address + "/team/hello:v1", "chart-v1": address + "/team/charts/hello:v1"}
	for range 2 {
		copied, err := oci.Copy(t.Context(), dir, targets)
		want := targets["v1"] + "@" + made.Digest() + " " + targets["chart-v1"] + "@" + described.Digest.String()
		if err != nil || strings.Join(copied, " ") != want {
			t.Fatalf("copied %v, %v; want %s", copied, err, want)
		}
	}
	for _, subject := range []struct{ of, kind string }{
		{"/team/hello@" + first.Digest.String(), "text/sbom"}, {"/team/hello@" + made.Digest(), "text/origin"},
		{"/team/charts/hello@" + described.Digest.String(), "text/origin"},
	} {
		digest, err := name.NewDigest(address + subject.of)
		if err != nil {
			t.Fatal(err)
		}
		referrers, err := remote.Referrers(digest)
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := referrers.IndexManifest()
		if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].ArtifactType != subject.kind {
			t.Errorf("referrers of %s are %+v, %v; want one %s", subject.of, manifest, err, subject.kind)
		}
	}
	delete(targets, "chart-v1")
	if _, err := oci.Copy(t.Context(), dir, targets); err == nil || !strings.Contains(err.Error(), "no name in a registry") {
		t.Errorf("error %v of a tag without a name", err)
	}
}
