//go:build e2e

package main

import (
	"bytes"
	"crypto/sha256"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// TestTwoCheckoutsGiveOneImage runs the command in two directories of different names, the second time with environment
// variables that must not change the program. The command is a separate process, because compressing the operator with the
// race detector takes a minute.
func TestTwoCheckoutsGiveOneImage(t *testing.T) {
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	command := filepath.Join(dir, "image")
	run(t, root, nil, "go", "build", "-buildvcs=false", "-o", command, "./hack/image")
	first, second := filepath.Join(dir, "checkout"), filepath.Join(dir, "another", "clone of it")
	// The second is a copy of the first, because a user can change the original during the test.
	copySources(t, root, first)
	copySources(t, first, second)
	stale := filepath.Join(first, "dist", "image", "vmgroup-operator-linux-s390x.cdx.json")
	if err := os.MkdirAll(filepath.Dir(stale), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	pushTo := strings.TrimPrefix(server.URL, "http://") + "/team/vmgroup-operator"
	t.Setenv("SOURCE_DATE_EPOCH", "1000")
	t.Setenv("DOCKER_CONFIG", t.TempDir())

	said := run(t, first, nil, command, "-version", "v1.2.3", "-push", pushTo)
	hostile := []string{"GOFLAGS=-tags=planted -race", "CGO_ENABLED=1", "GOAMD64=v3", "TZ=Asia/Tokyo", "LANG=tr_TR.UTF-8"}
	run(t, second, hostile, command, "-version", "1.2.3")
	sums := sumsBelow(t, filepath.Join(first, "dist", "image"))
	if diff := cmp.Diff(sums, sumsBelow(t, filepath.Join(second, "dist", "image"))); diff != "" {
		t.Errorf("the files differ (-first +second):\n%s", diff)
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(sums)), func(name string) bool { return strings.HasPrefix(name, "oci/") })
	if want := []string{"vmgroup-operator.cdx.json", "vmgroup-operator.tar"}; !slices.Equal(names, want) {
		t.Errorf("besides the layout it wrote %v, want %v", names, want)
	}

	image, digest := readLayout(t, filepath.Join(first, "dist", "image", "oci"))
	if !strings.Contains(said, "docker.io/library/vmgroup-operator:1.2.3@"+digest.String()) {
		t.Errorf("it does not say the digest %s:\n%s", digest, said)
	}
	checkPushed(t, pushTo+":1.2.3", digest)
	program := checkProgram(t, image, first)
	checkSBOM(t, filepath.Join(first, "dist", "image", "vmgroup-operator.cdx.json"), program, digest)
}

// copySources copies the sources of the operator as in a release archive: without git.
func copySources(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"api", "cmd", "config", "internal"} {
		if err := os.CopyFS(filepath.Join(to, dir), os.DirFS(filepath.Join(from, dir))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum", "LICENSE"} {
		content, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// sumsBelow returns the checksums of the files below a directory.
func sumsBelow(t *testing.T, dir string) map[string][sha256.Size]byte {
	t.Helper()
	sums := map[string][sha256.Size]byte{}
	files := os.DirFS(dir)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		sums[name] = sha256.Sum256(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

func readLayout(t *testing.T, dir string) (v1.Image, v1.Hash) {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	digest := manifest.Manifests[0].Digest
	image, err := index.Image(digest)
	if err != nil {
		t.Fatal(err)
	}
	return image, digest
}

func checkPushed(t *testing.T, reference string, want v1.Hash) {
	t.Helper()
	tag, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := remote.Head(tag)
	if err != nil {
		t.Fatal(err)
	}
	if pushed.Digest != want {
		t.Errorf("pushed %s, want %s", pushed.Digest, want)
	}
}

// checkProgram extracts the operator from the image, runs it, and searches it for the directory of its compilation.
func checkProgram(t *testing.T, image v1.Image, checkout string) (program string) {
	t.Helper()
	rootfs := filepath.Join(t.TempDir(), "rootfs")
	if err := oci.Extract(image, rootfs); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(rootfs, "manager")
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(content, []byte(checkout)) {
		t.Errorf("the program names the directory %s", checkout)
	}
	if runtime.GOOS != "linux" {
		t.Log("not run: the operator is compiled for Linux")
		return program
	}
	if said := strings.TrimSpace(run(t, rootfs, nil, program, "version")); said != "1.2.3" {
		t.Errorf("manager version says %q, want 1.2.3", said)
	}
	return program
}
