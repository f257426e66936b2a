package assets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// releaseServer serves an index with a few releases and an archive whose programs print nothing.
func releaseServer(t *testing.T, series string, damage bool) *httptest.Server {
	t.Helper()
	var content bytes.Buffer
	zipped := gzip.NewWriter(&content)
	archive := tar.NewWriter(zipped)
	for _, name := range []string{"kube-apiserver", "etcd", "kubectl"} {
		header := &tar.Header{Name: "controller-tools/envtest/" + name, Typeflag: tar.TypeReg, Mode: 0o755, Size: 1}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte("#")); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	sum := sha512.Sum512(content.Bytes())
	if damage {
		sum[0]++
	}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("/index.yaml", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "releases:")
		for _, patch := range []string{"2", "10", "11-rc.0"} {
			release := "v" + series + "." + patch
			_, _ = fmt.Fprintf(w, "  %s:\n    envtest-%s-%s-%s.tar.gz: {hash: %s, selfLink: '%s/%s'}\n",
				release, release, runtime.GOOS, runtime.GOARCH, hex.EncodeToString(sum[:]), server.URL, release)
		}
	})
	// Only the newest stable release exists: choosing another one fails.
	mux.HandleFunc("/v"+series+".10", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(content.Bytes())
	})
	return server
}

func testDownloader(server *httptest.Server) *downloader {
	return &downloader{
		client: server.Client(), index: server.URL + "/index.yaml", patience: 5 * time.Minute, out: io.Discard,
	}
}

func TestDownloadInstallsTheNewestStableRelease(t *testing.T) {
	server := releaseServer(t, "1.36", false)
	dir := filepath.Join(t.TempDir(), "envtest")
	if err := testDownloader(server).fetch(t.Context(), "1.36", dir); err != nil {
		t.Fatal(err)
	}
	if err := complete(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "kubectl")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("kubectl was installed without a request: %v", err)
	}
}

func TestDownloadRefusesAWrongChecksum(t *testing.T) {
	server := releaseServer(t, "1.36", true)
	dir := filepath.Join(t.TempDir(), "envtest")
	if err := testDownloader(server).fetch(t.Context(), "1.36", dir); err == nil {
		t.Fatal("an archive with a wrong checksum was accepted")
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was installed: %v", err)
	}
}

func TestDownloadGivesUpOnASilentServer(t *testing.T) {
	// Accepts connections and never responds, like a firewall that drops packets.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	d := &downloader{
		client: &http.Client{Transport: &http.Transport{}}, index: "http://" + listener.Addr().String(),
		patience: 50 * time.Millisecond, out: io.Discard,
	}
	// The duration depends on the machine more than on the downloader; one without a timeout never gets here.
	if err := d.fetch(t.Context(), "1.36", filepath.Join(t.TempDir(), "envtest")); !errors.Is(err, context.DeadlineExceeded) &&
		(err == nil || !strings.Contains(err.Error(), "no answer within")) {
		t.Fatalf("got %v, want that a silent server is given up", err)
	}
}

func TestDownloadOfAnUnknownSeriesFails(t *testing.T) {
	server := releaseServer(t, "1.36", false)
	err := testDownloader(server).fetch(t.Context(), "1.3", filepath.Join(t.TempDir(), "envtest"))
	if err == nil || !strings.Contains(err.Error(), "no release 1.3") {
		t.Errorf("got %v, want that there is no release 1.3", err)
	}
}

func TestEnsureHonoursKubebuilderAssets(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", dir)
	if _, err := Ensure(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), "KUBEBUILDER_ASSETS") {
		t.Errorf("an empty directory was accepted or not named: %v", err)
	}
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Ensure(t.Context(), io.Discard)
	if err != nil || got != dir {
		t.Errorf("got %q, %v; want %q", got, err, dir)
	}
}

func TestEnsureUsesTheCache(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("VMGROUP_CACHE", t.TempDir())
	set, err := loadControlPlane()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range set.tools {
		if err := os.MkdirAll(filepath.Dir(tool.path()), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(tool.path(), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time over a dangling link
		if err := set.link(); err != nil {
			t.Fatal(err)
		}
		got, err := Ensure(t.Context(), io.Discard)
		if err != nil || got != set.built {
			t.Fatalf("got %q, %v; want %q", got, err, set.built)
		}
		if err := os.Remove(filepath.Join(got, "etcd")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(t.TempDir(), "gone"), filepath.Join(got, "etcd")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestToolBuildsOnceAndReportsErrors(t *testing.T) {
	t.Setenv("VMGROUP_CACHE", t.TempDir())
	root := t.TempDir()
	t.Chdir(root)
	write := func(path, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module "+Module+"\n")
	write("tools/hello/go.mod", "module hello\n\ngo 1.26\n\ntool hello/cmd/hello\n")
	write("tools/hello/go.sum", "")
	write("tools/hello/cmd/hello/main.go", "package main\n\nfunc main() { undefined() }\n")

	_, err := Tool(t.Context(), "hello", io.Discard)
	if err == nil || !strings.Contains(err.Error(), "undefined: undefined") {
		t.Fatalf("got %v, want the compiler's message", err)
	}
	write("tools/hello/cmd/hello/main.go", "package main\n\nfunc main() {}\n")
	path, err := Tool(t.Context(), "hello", io.Discard)
	if err != nil || !isProgram(path) {
		t.Fatalf("got %q, %v; want a program", path, err)
	}

	// The cache works even if no build is possible any more, and a changed pin requires another build.
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if again, err := Tool(canceled, "hello", io.Discard); err != nil || again != path {
		t.Errorf("got %q, %v; want %q from the cache", again, err, path)
	}
	write("tools/hello/go.sum", "\n")
	if _, err := Tool(canceled, "hello", io.Discard); err == nil {
		t.Error("a changed go.sum was ignored")
	}
	write("tools/hello/go.sum", "")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if again, err := Tool(t.Context(), "hello", io.Discard); err != nil || again != path || !isProgram(path) {
		t.Errorf("got %q, %v after the program was deleted; want it to be built again", again, err)
	}
	if _, err := Tool(t.Context(), "unknown", io.Discard); err == nil || !strings.Contains(err.Error(), "hello") {
		t.Errorf("got %v, want an error that lists the tools", err)
	}
}

func TestKubernetesVersionIsTakenFromThePin(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile(filepath.Join(root, "tools", "kube-apiserver", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	pinned := requirement(gomod, "k8s.io/kubernetes")
	tool, err := loadTool("kube-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	if flags := strings.Join(tool.flags, " "); pinned == "" || !strings.Contains(flags, "gitVersion="+pinned+" ") {
		t.Errorf("flags %q do not set the pinned version %q", flags, pinned)
	}
}
