package oci_test

import (
	"archive/tar"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
)

func TestImageSaysWhatToRunAndAsWhom(t *testing.T) {
	built, err := image(hello(t)).Build()
	if err != nil {
		t.Fatal(err)
	}
	config, err := built.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != runtime.GOARCH {
		t.Errorf("platform %s/%s, want linux/%s", config.OS, config.Architecture, runtime.GOARCH)
	}
	want := v1.Config{
		User: "65532:65532", Entrypoint: []string{"/bin/hello"}, Env: []string{"A=B"}, WorkingDir: "/",
		Labels: map[string]string{"org.opencontainers.image.title": "hello"},
	}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if created := config.Created.Unix(); created != 0 {
		t.Errorf("created %v, want 1970", config.Created)
	}
	manifest, err := built.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Annotations["org.opencontainers.image.title"] != "hello" {
		t.Errorf("annotations %v, want the labels", manifest.Annotations)
	}
	for _, described := range append([]v1.Descriptor{{MediaType: manifest.MediaType}, manifest.Config}, manifest.Layers...) {
		if !strings.HasPrefix(string(described.MediaType), "application/vnd.oci.image.") {
			t.Errorf("media type %s is not of OCI", described.MediaType)
		}
	}
}

func TestImageTakesWhatItIsTold(t *testing.T) {
	when := time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)
	described := image(hello(t))
	described.User, described.Entrypoint, described.Created = "10001", []string{"/bin/hello", "/etc/greeting"}, when
	built, err := described.Build()
	if err != nil {
		t.Fatal(err)
	}
	config, err := built.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "10001" || !slices.Equal(config.Config.Entrypoint, described.Entrypoint) {
		t.Errorf("user %q entrypoint %q", config.Config.User, config.Config.Entrypoint)
	}
	if !config.Created.Equal(when) {
		t.Errorf("created %v, want %v", config.Created, when)
	}
}

func TestLayersAreOfRootFrom1970AndSorted(t *testing.T) {
	built, err := image(hello(t)).Build()
	if err != nil {
		t.Fatal(err)
	}
	layers, err := built.Layers()
	if err != nil {
		t.Fatal(err)
	}
	got := make([][]string, 0, len(layers))
	for _, layer := range layers {
		got = append(got, entries(t, layer))
	}
	want := [][]string{
		{
			"drwxr-xr-x etc/", "drwxr-xr-x etc/deep/", "drwxr-xr-x etc/deep/er/", "-rw------- etc/deep/er/file",
			"-r--r--r-- etc/greeting", "dtrwxrwxrwx tmp/",
		},
		{"drwxr-xr-x bin/", "-r-xr-xr-x bin/hello"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("layers (-want +got):\n%s", diff)
	}
}

// entries lists a layer and reports wrong owners and times.
func entries(t *testing.T, layer v1.Layer) []string {
	t.Helper()
	content, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	var list []string
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || header.Uname != "" || header.ModTime.Unix() != 0 {
			t.Errorf("%s belongs to %d:%d %q and is from %v", header.Name, header.Uid, header.Gid, header.Uname, header.ModTime)
		}
		list = append(list, fmt.Sprint(header.FileInfo().Mode(), " ", header.Name))
	}
}

func TestUnusableImagesAreRefused(t *testing.T) {
	ours, others, elsewhere := processors()
	usable := hello(t)
	text := usable + ".txt"
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		edit func(*oci.Image)
		want string
	}{
		{"no program", func(i *oci.Image) { i.Programs = nil }, "needs a program"},
		{"missing program", func(i *oci.Image) { i.Programs[0].Source += ".gone" }, "read the program /bin/hello"},
		{"script", func(i *oci.Image) { i.Programs[0].Source = text }, "no executable for Linux"},
		{"dynamic", func(i *oci.Image) { i.Programs[0].Source = program(t, ours, elf.PT_INTERP) }, "build it with CGO_ENABLED=0"},
		{"other processor", func(i *oci.Image) { i.Platform = elsewhere }, "another processor"},
		{"our processor", func(i *oci.Image) { i.Programs[0].Source = program(t, others, static) }, "another processor"},
		{"platform", func(i *oci.Image) { i.Platform = "amd64" }, `"amd64" is not of the form`},
		{"other system", func(i *oci.Image) { i.Platform = "windows/amd64" }, "is not of the form"},
		{"relative path", func(i *oci.Image) { i.Files[0].Path = "etc/greeting" }, "is not absolute"},
		{"root", func(i *oci.Image) { i.Files[0].Path = "/etc/.." }, "is the root"},
		{"twice", func(i *oci.Image) { i.Files[0].Path = "/etc/deep/../deep/er/file" }, "is twice"},
		{"below a file", func(i *oci.Image) { i.Files[0].Path = "/etc/deep/er/file/greeting" }, "is below it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			described := image(usable)
			test.edit(&described)
			_, err := described.Build()
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}
