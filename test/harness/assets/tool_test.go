package assets

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestSourcesOfAnOwnToolBelongToItsKey: a program in this repository, without a pin, is rebuilt when it changes.
func TestSourcesOfAnOwnToolBelongToItsKey(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"main.go": "package main", "go.mod": "module x", "b.go": "package main // b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ownSources(dir)
	if want := []string{"b.go", "package main // b", "main.go", "package main"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	own, err := loadTool("cert-manager")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(own.pkgs[0], "/tools/cert-manager") || own.version != "" {
		t.Errorf("cert-manager is built from %s %s", own.pkgs, own.version)
	}
}

// TestSeveralProgramsAreBuiltByOneBuild: a module with several tool directives results in a directory with all of them.
// It is built with its tags and the version of the pinned module, although its own package comes first.
func TestSeveralProgramsAreBuiltByOneBuild(t *testing.T) {
	if runtime.GOOS != "linux" {
		if _, err := loadTool("kube-node"); err == nil {
			t.Error("kube-node can be built for another system than Linux")
		}
		return
	}
	t.Setenv("VMGROUP_CACHE", t.TempDir())
	node, err := loadTool("kube-node")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, pkg := range node.pkgs {
		names = append(names, filepath.Base(node.program(pkg)))
	}
	slices.Sort(names)
	want := []string{"kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet", "pause"}
	if !slices.Equal(names, want) || node.path() != node.home {
		t.Errorf("got %v in %s, want %v", names, node.path(), want)
	}
	if flags := strings.Join(node.flags, " "); !strings.Contains(flags, "version.gitVersion="+node.version+" ") || node.version == "" {
		t.Errorf("built with %q: the version %q is not in it", flags, node.version)
	}
	for i, pkg := range node.pkgs {
		if node.built() {
			t.Errorf("built with %d of %d programs", i, len(node.pkgs))
		}
		if err := errors.Join(os.MkdirAll(node.home, 0o755), os.WriteFile(node.program(pkg), nil, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if !node.built() {
		t.Error("not built although all programs are there")
	}
	containerd, err := loadTool("containerd")
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(containerd.flags, "-tags"); i < 0 || !strings.Contains(containerd.flags[i+1], "no_btrfs") {
		t.Errorf("containerd is built with %v", containerd.flags)
	}
}

func TestDirectivesOfLinesAndBlocks(t *testing.T) {
	gomod := []byte("module example.org/m\n\ntool a/b\ntool (\n\tc/d\n\t// e/f\n\t\"g/h\"\n)\nrequire (\n\tx v1.0.0\n)\n")
	if got, want := directives(gomod, "tool"), []string{"a/b", "c/d", "g/h"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := directives(gomod, "module"); !slices.Equal(got, []string{"example.org/m"}) {
		t.Errorf("got %q", got)
	}
}
