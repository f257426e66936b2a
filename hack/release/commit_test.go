package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/test/harness/clone"
)

// repositoryOf makes a clone with one commit. It has the files of a release that name a version.
func repositoryOf(t *testing.T, version string) (dir string, run func(args ...string)) {
	t.Helper()
	dir = t.TempDir()
	clone.Isolate(t, dir)
	t.Setenv("GIT_COMMITTER_DATE", "2026-11-21T20:00:00Z")
	put(t, dir, "charts/vmgroup-operator/Chart.yaml", "version: "+version+"\nappVersion: "+version+"\nannotations:\n  artifacthub.io/images: |\n"+
		"    - {name: vmgroup-operator, image: \"vmgroup-operator:"+version+"\"}\n")
	put(t, dir, "config/manager/kustomization.yaml", "images: []\n")
	put(t, dir, "README.md", "make release VERSION="+version+"\n")
	put(t, dir, "docs/page.md", "# Page\n")
	run = func(args ...string) {
		command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.com"}, args...)...)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	run("init", "-q")
	run("add", ".")
	run("commit", "-q", "-m", "one")
	return dir, run
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestARegistryIsRefusedThatNoReferenceCanName(t *testing.T) {
	for _, above := range []string{"", "registry.example.com", "registry.example.com/team", "localhost:5000/a/b"} {
		if err := checkRegistry("-registry", above); err != nil {
			t.Errorf("%q: %v", above, err)
		}
	}
	for _, above := range []string{"https://registry.example.com/team", "oci://registry.example.com", "registry.example.com//team", "team/", "/team", "a/../b"} {
		if err := checkRegistry("-registry", above); err == nil || !strings.Contains(err.Error(), "registry.example.com/team, without a scheme") {
			t.Errorf("%q: %v", above, err)
		}
	}
}

func TestACommitIsRefusedUntilItCanBeReleased(t *testing.T) {
	dir, run := repositoryOf(t, "0.2.0")
	refused := func(version, want string) {
		t.Helper()
		if _, err := readyCommit(t.Context(), dir, version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("version %s: error %v, want %q", version, err, want)
		}
	}
	source, err := readyCommit(t.Context(), dir, "0.2.0")
	const committed = 1795291200
	if err != nil || len(source.id) != 40 || source.at.Unix() != committed {
		t.Fatalf("commit %+v, %v", source, err)
	}
	for _, version := range []string{"", "0.2", "0.2.0+build", "dev", "01.2.3", source.id} {
		refused(version, "is not of the form 0.2.0")
	}
	refused("0.3.0", "the chart has version 0.2.0")
	run("tag", "v0.1.9")
	run("tag", "other")
	refused("0.2.0", "the commit has tag v0.1.9, not v0.2.0")
	run("tag", "v0.2.0")
	if _, err := readyCommit(t.Context(), dir, "0.2.0"); err != nil {
		t.Errorf("with the tag of the version: %v", err)
	}
	put(t, dir, "docs/page.md", "`vmgroup-operator-0.1.0.tgz`\n")
	refused("0.2.0", "not committed; commit or remove them:\nM docs/page.md")
	run("commit", "-q", "-a", "-m", "two")
	refused("0.2.0", "tag v0.2.0 is at commit "+source.id)
	run("tag", "-d", "v0.2.0")
	refused("0.2.0", "docs/page.md:1 names version 0.1.0, and the chart has 0.2.0")
	run("config", "status.showUntrackedFiles", "no")
	put(t, dir, "new.yaml", "")
	refused("0.2.0", "not committed; commit or remove them:\n?? new.yaml")
	put(t, dir, ".git/info/exclude", "*~\nnew.yaml\n")
	put(t, dir, "charts/vmgroup-operator/templates/role.yaml~", "")
	refused("0.2.0", "not committed; commit or remove them:\n!! charts/vmgroup-operator/templates/role.yaml~")
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	refused("0.2.0", "needs a clone with git")
}
