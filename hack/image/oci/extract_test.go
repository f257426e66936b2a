package oci_test

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
)

// untar unpacks files and directories only.
func untar(t *testing.T, archive, dir string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for reader := tar.NewReader(file); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeDir {
			err = root.Mkdir(strings.TrimSuffix(header.Name, "/"), 0o700)
		} else {
			var content []byte
			if content, err = io.ReadAll(reader); err == nil {
				err = root.WriteFile(header.Name, content, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnpackedProgramRuns runs the program like a container runtime: only in the image's root file system, and as its user.
// This needs Linux and root. Elsewhere the test only checks the files.
func TestUnpackedProgramRuns(t *testing.T) {
	program := filepath.Join(t.TempDir(), "hello")
	compile := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", program, "./testdata/hello")
	compile.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("compile the program of the test: %v\n%s", err, out)
	}
	built, err := image(program).Build()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "rootfs")
	before := syscall.Umask(0o077)
	err = oci.Extract(built, dir)
	syscall.Umask(before)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{
		".": os.ModeDir | 0o755, "etc": os.ModeDir | 0o755,
		"bin/hello": 0o555, "etc/deep/er/file": 0o600, "etc/greeting": 0o444, "tmp": os.ModeDir | os.ModeSticky | 0o777,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
	}
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Log("not run: that takes Linux and root")
		return
	}
	command := exec.Command("/bin/hello", "/etc/greeting")
	command.Dir = "/"
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	out, err := command.CombinedOutput()
	const want = "user 65532 group 65532\n/etc/greeting: good morning\n"
	if err != nil || string(out) != want {
		t.Errorf("it says %q (%v), want %q", out, err, want)
	}
	// The previous directory is not overwritten.
	if err := oci.Extract(built, dir); err == nil {
		t.Error("a root file system was written over another one")
	}
}
