package oci_test

import (
	"crypto/sha256"
	"debug/elf"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
)

func TestSameInputGivesTheSameBytes(t *testing.T) {
	made := map[string]map[string][sha256.Size]byte{}
	digests := map[string]string{}
	for _, at := range []string{"here", "there"} {
		program := hello(t)
		if at == "there" {
			// The image contains neither the time nor the mode of the file.
			then := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
			if err := os.Chmod(program, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(program, then, then); err != nil {
				t.Fatal(err)
			}
		}
		made[at], digests[at] = write(t, bundle(t, "hello:v1", image(program)))
	}
	if diff := cmp.Diff(made["here"], made["there"]); diff != "" {
		t.Errorf("files differ (-here +there):\n%s", diff)
	}
	if digests["here"] != digests["there"] {
		t.Errorf("digests %v", digests)
	}
}

// write writes layout and archive into a new directory and returns the checksums of all files.
func write(t *testing.T, bundle *oci.Bundle) (sums map[string][sha256.Size]byte, digest string) {
	t.Helper()
	dir := t.TempDir()
	if err := bundle.WriteLayout(filepath.Join(dir, "oci")); err != nil {
		t.Fatal(err)
	}
	if err := bundle.WriteArchive(filepath.Join(dir, "image.tar")); err != nil {
		t.Fatal(err)
	}
	sums = map[string][sha256.Size]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		sums[name] = sha256.Sum256(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums, bundle.Digest()
}

func TestWhateverAnImageHasIsInItsDigest(t *testing.T) {
	ours, _, _ := processors()
	seen := map[string]string{}
	for name, edit := range map[string]func(*oci.Image){
		"nothing": func(*oci.Image) {},
		"program": func(i *oci.Image) { i.Programs[0].Source = program(t, ours, elf.PT_NOTE) },
		"path":    func(i *oci.Image) { i.Programs[0].Path = "/bin/other" },
		"content": func(i *oci.Image) { i.Files[0].Content = []byte("good evening\n") },
		"mode":    func(i *oci.Image) { i.Files[0].Mode = 0o400 },
		"user":    func(i *oci.Image) { i.User = "10001:10001" },
		"env":     func(i *oci.Image) { i.Env = nil },
		"label":   func(i *oci.Image) { i.Labels = map[string]string{"a": "b"} },
		"time":    func(i *oci.Image) { i.Created = time.Unix(1, 0) },
	} {
		described := image(hello(t))
		edit(&described)
		digest := bundle(t, "hello:v1", described).Digest()
		if before, twice := seen[digest]; twice {
			t.Errorf("%s and %s give the same digest", before, name)
		}
		seen[digest] = name
	}
}

func TestLayoutAndArchiveHoldTheImage(t *testing.T) {
	for reference, images := range map[string][]oci.Image{
		"hello:v1":                           {image(hello(t))},
		"registry.example.com/team/hello:v1": twoImages(t),
	} {
		t.Run(reference, func(t *testing.T) {
			made, dir := bundle(t, reference, images...), t.TempDir()
			oldFile := filepath.Join(dir, "oci", "of-before")
			if err := os.MkdirAll(filepath.Dir(oldFile), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(oldFile, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := made.WriteLayout(filepath.Join(dir, "oci")); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(oldFile); !os.IsNotExist(err) {
				t.Errorf("a file of the layout of before is still there: %v", err)
			}
			checkLayout(t, filepath.Join(dir, "oci"), made)

			archive := filepath.Join(dir, "image.tar")
			if err := made.WriteArchive(archive); err != nil {
				t.Fatal(err)
			}
			checkArchive(t, archive, reference, made)
			left, err := filepath.Glob(filepath.Join(dir, ".*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

// checkLayout verifies every digest and size below the directory, and the names that containerd reads.
func checkLayout(t *testing.T, dir string, made *oci.Bundle) {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 {
		t.Fatalf("%d entries in index.json, want 1", len(manifest.Manifests))
	}
	entry := manifest.Manifests[0]
	if entry.Digest.String() != made.Digest() {
		t.Errorf("index.json has %s, want %s", entry.Digest, made.Digest())
	}
	want := map[string]string{
		"io.containerd.image.name": made.Name(), "org.opencontainers.image.ref.name": "v1",
	}
	if diff := cmp.Diff(want, entry.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

// checkArchive reads the archive like an old Docker, and compares the rest with the layout.
func checkArchive(t *testing.T, archive, reference string, made *oci.Bundle) {
	t.Helper()
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(archive) })
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest) != 1 || !slices.Equal(manifest[0].RepoTags, []string{reference}) {
		t.Errorf("manifest.json is %+v, want one image of the name %s", manifest, reference)
	}
	loaded, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := loaded.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	want, err := made.Images()[0].ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("the archive has image %s, want %s", got, want)
	}
	if err := validate.Image(loaded); err != nil {
		t.Error(err)
	}
	dir := filepath.Join(t.TempDir(), "archive")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	untar(t, archive, dir)
	checkLayout(t, dir, made)
}

func TestNamesAreThoseOfContainerd(t *testing.T) {
	for given, want := range map[string]string{
		"hello:v1":                           "docker.io/library/hello:v1",
		"team/hello:v1":                      "docker.io/team/hello:v1",
		"registry.example.com:5000/hello:v1": "registry.example.com:5000/hello:v1",
	} {
		if got := bundle(t, given, image(hello(t))).Name(); got != want {
			t.Errorf("%s is %s, want %s", given, got, want)
		}
	}
	for given, want := range map[string]string{"hello": "has no tag", "hello:v1+2": "the image's name", "Hello:v1": "Hello"} {
		if err := oci.CheckName(given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", given, err, want)
		}
	}
}

func TestBundleNeedsImagesOfDifferentPlatforms(t *testing.T) {
	if _, err := oci.New("hello:v1"); err == nil {
		t.Error("a bundle without an image")
	}
	one := image(hello(t))
	if _, err := oci.New("hello:v1", one, one); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("error %v of one platform twice", err)
	}
}
