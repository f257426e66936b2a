//go:build e2e

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/hack/image/operator"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// dockerfile returns the instructions, one per line.
func dockerfile(t *testing.T) (root string, instructions []string) {
	t.Helper()
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.ReplaceAll(string(content), "\\\n", "")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			instructions = append(instructions, line)
		}
	}
	return root, instructions
}

// TestDockerfileCopiesWhatItsBuildNeeds runs the Dockerfile's command in a directory that contains only the files that the
// Dockerfile copies and .dockerignore allows.
func TestDockerfileCopiesWhatItsBuildNeeds(t *testing.T) {
	root, instructions := dockerfile(t)
	directory, rootfs := t.TempDir(), filepath.Join(t.TempDir(), "rootfs")
	build := ""
	for _, instruction := range instructions {
		words := strings.Fields(instruction)
		switch {
		case words[0] == "COPY" && !strings.HasPrefix(words[1], "--from"):
			for _, source := range words[1 : len(words)-1] {
				copyAsDocker(t, filepath.Join(root, source), filepath.Join(directory, source))
			}
		case strings.HasPrefix(instruction, "RUN go run"):
			build = strings.ReplaceAll(strings.TrimPrefix(instruction, "RUN "), "/rootfs", rootfs)
		}
	}
	if build == "" {
		t.Fatal("the Dockerfile has no RUN go run")
	}
	run(t, directory, []string{"TARGETOS=linux", "TARGETARCH=" + runtime.GOARCH, "VERSION=v1.2.3"}, "sh", "-c", build)
	for _, file := range []string{"manager", "etc/passwd", "etc/group", "etc/ssl/certs/ca-certificates.crt", "tmp"} {
		if _, err := os.Stat(filepath.Join(rootfs, file)); err != nil {
			t.Error(err)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	if said := strings.TrimSpace(run(t, rootfs, nil, filepath.Join(rootfs, "manager"), "version")); said != "1.2.3" {
		t.Errorf("manager version says %q, want 1.2.3", said)
	}
}

// copyAsDocker copies a file or directory without the files that the last lines of .dockerignore exclude.
func copyAsDocker(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if !info.IsDir() {
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	var ignored []string
	err = filepath.WalkDir(to, func(name string, entry os.DirEntry, err error) error {
		if entry != nil && entry.Name() == "testdata" || strings.HasSuffix(name, "_test.go") {
			ignored = append(ignored, name)
		}
		return err
	})
	for _, name := range ignored {
		err = errors.Join(err, os.RemoveAll(name))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDockerignoreLetsThroughWhatTheDockerfileCopies compares the two lists.
func TestDockerignoreLetsThroughWhatTheDockerfileCopies(t *testing.T) {
	root, instructions := dockerfile(t)
	content, err := os.ReadFile(filepath.Join(root, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(content), "\n")
	var through, copied []string
	for _, line := range lines {
		if name, ok := strings.CutPrefix(line, "!"); ok {
			through = append(through, name)
		}
	}
	for _, instruction := range instructions {
		if words := strings.Fields(instruction); words[0] == "COPY" && !strings.HasPrefix(words[1], "--from") {
			copied = append(copied, words[1:len(words)-1]...)
		}
	}
	slices.Sort(through)
	slices.Sort(copied)
	if !slices.Equal(through, copied) {
		t.Errorf(".dockerignore lets %v through, the Dockerfile copies %v", through, copied)
	}
	for _, line := range []string{"*", "**/testdata", "**/*_test.go"} {
		if !slices.Contains(lines, line) {
			t.Errorf(".dockerignore has no line %s", line)
		}
	}
}

// TestDockerfileDescribesTheSameImage compares the settings of the Dockerfile with those of `make image`.
func TestDockerfileDescribesTheSameImage(t *testing.T) {
	_, instructions := dockerfile(t)
	image := operator.Image("manager", "linux/amd64", operator.Release{Version: "${VERSION}", Revision: "${REVISION}"})
	for _, want := range []string{"USER " + image.User, `ENTRYPOINT ["` + operator.ProgramPath + `"]`, "FROM scratch"} {
		if !slices.Contains(instructions, want) {
			t.Errorf("the Dockerfile has no %s", want)
		}
	}
	at := slices.IndexFunc(instructions, func(line string) bool { return strings.HasPrefix(line, "LABEL ") })
	if at < 0 {
		t.Fatal("the Dockerfile has no LABEL")
	}
	labels := map[string]string{}
	for _, match := range regexp.MustCompile(`([a-z.]+)="([^"]*)"`).FindAllStringSubmatch(instructions[at], -1) {
		labels[match[1]] = match[2]
	}
	for label, want := range image.Labels {
		if labels[label] != want {
			t.Errorf("label %s is %q, want %q", label, labels[label], want)
		}
	}
	if len(labels) != len(image.Labels) {
		t.Errorf("labels %v, want %v", labels, image.Labels)
	}
}

// run runs a program and returns its output.
func run(t *testing.T, dir string, env []string, program string, args ...string) string {
	t.Helper()
	command := exec.Command(program, args...)
	command.Dir, command.Env = dir, append(os.Environ(), env...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", filepath.Base(program), args, err, out)
	}
	return string(out)
}
