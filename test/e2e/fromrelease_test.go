//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/hack/release/versions"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/clone"
)

// TestReleaseInstalls makes a release of the tree for one platform, and installs it with each of the documented commands. It runs before the
// stories, on a hub without the operator, and leaves the hub like that.
func TestReleaseInstalls(t *testing.T) {
	began := time.Now()
	noRouteToTheInternet(t)
	made := makeRelease(t)
	for _, way := range []struct {
		name string
		try  func(*testing.T)
	}{
		{"EachChangedByteIsNoticed", made.eachChangedByteIsNoticed},
		{"ProvenanceNamesEachFile", made.provenanceNamesEachFile},
		{"ThePluginFromKrew", made.thePluginFromKrew},
		{"TheChartFromARegistry", made.theChartFromARegistry},
		{"TheManifests", made.theManifests},
	} {
		if !t.Run(way.name, way.try) {
			world.explain(t)
			t.FailNow()
		}
	}
	fmt.Printf("e2e: making and installing a release took %s\n", time.Since(began).Round(100*time.Millisecond))
}

// noRouteToTheInternet fails the test if this process can reach more than loopback and the networks of the test's own clusters. The connection
// of a UDP socket looks for a route, and sends nothing.
func noRouteToTheInternet(t *testing.T) {
	t.Helper()
	conn, err := net.Dial("udp", "192.0.2.1:9")
	if err == nil {
		_ = conn.Close()
	}
	if !errors.Is(err, unix.ENETUNREACH) {
		t.Fatalf("the way to the documentation network 192.0.2.0/24: %v, want %v; `make test-release` runs this test in a network that has only loopback", err, unix.ENETUNREACH)
	}
}

// madeRelease is a release of the tree, and the registry that has a copy.
type madeRelease struct {
	dir, version, registry string
	// plugin is the environment of users with the released plugin.
	plugin []string
}

// makeRelease runs the command in a clone of the tree.
func makeRelease(t *testing.T) *madeRelease {
	t.Helper()
	version, err := versions.Chart(world.root)
	must(t, err)
	made := &madeRelease{version: version, registry: startRegistry(t) + "/team"}
	sources := filepath.Join(world.dir, "release")
	must(t, clone.Commit(t.Context(), world.root, sources))
	command := exec.CommandContext(t.Context(), "go", "run", "-trimpath", "-buildvcs=false", "./hack/release",
		"-version", version, "-platform", "linux/"+runtime.GOARCH, "-registry", made.registry, "-push", made.registry)
	command.Dir, command.Env = sources, append(clone.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("make the release: %v\n%s", err, out)
	}
	made.dir = filepath.Join(sources, "dist", "release", "v"+version)
	return made
}

// names returns the paths of all files of a directory, relative to it.
func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	must(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	}))
	return names
}

// eachChangedByteIsNoticed changes one byte of each file, and runs the documented command.
func (m *madeRelease) eachChangedByteIsNoticed(t *testing.T) {
	changed := filepath.Join(t.TempDir(), "changed")
	must(t, os.CopyFS(changed, os.DirFS(m.dir)))
	check := func() (string, error) {
		command := exec.CommandContext(t.Context(), "shasum", "-a", "256", "-c", "SHA256SUMS")
		command.Dir = changed
		out, err := command.CombinedOutput()
		return string(out), err
	}
	if out, err := check(); err != nil {
		t.Fatalf("the release as it was made: %v\n%s", err, out)
	}
	var altered []string
	for _, name := range names(t, changed) {
		if name == "SHA256SUMS" {
			continue
		}
		altered = append(altered, name)
		content, err := os.ReadFile(filepath.Join(changed, name))
		must(t, err)
		content[len(content)/2] ^= 1
		must(t, os.WriteFile(filepath.Join(changed, name), content, 0o600))
	}
	out, err := check()
	if err == nil {
		t.Error("changed files pass the check")
	}
	for _, name := range altered {
		if !strings.Contains(out, name+": FAILED\n") {
			t.Errorf("a changed byte of %s is not noticed", name)
		}
	}
	if len(altered) < 20 {
		t.Errorf("the release has only the files %v", altered)
	}
}

// provenanceNamesEachFile compares the subjects of the statement with the checksums.
func (m *madeRelease) provenanceNamesEachFile(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(m.dir, "provenance.intoto.jsonl"))
	must(t, err)
	var statement struct {
		Subject []struct {
			Name   string
			Digest map[string]string
		}
	}
	must(t, json.Unmarshal(content, &statement))
	sums, err := os.ReadFile(filepath.Join(m.dir, "SHA256SUMS"))
	must(t, err)
	subjects := map[string]bool{}
	for _, subject := range statement.Subject {
		subjects[subject.Digest["sha256"]+"  "+subject.Name] = true
	}
	for line := range strings.Lines(string(sums)) {
		line = strings.TrimSpace(line)
		// The layout contains the statement; two subjects are its image and its chart.
		if strings.Contains(line, "  oci/") || strings.HasSuffix(line, "  provenance.intoto.jsonl") {
			continue
		}
		if !subjects[line] {
			t.Errorf("the provenance lacks %s", line)
		}
	}
}

// thePluginFromKrew validates the manifest with krew's own program, and installs the plugin with krew.
func (m *madeRelease) thePluginFromKrew(t *testing.T) {
	programs, err := assets.Programs(t.Context(), "krew", os.Stderr)
	must(t, err)
	home := filepath.Join(world.dir, "krew")
	m.plugin = append(peoplesEnvironment(t), "KREW_ROOT="+home, "KREW_NO_UPGRADE_CHECK=1")
	path := m.plugin[slices.IndexFunc(m.plugin, func(entry string) bool { return strings.HasPrefix(entry, "PATH="+world.plugins) })]
	m.plugin = append(m.plugin, strings.Replace(path, world.plugins, filepath.Join(home, "bin"), 1))
	manifest := filepath.Join(m.dir, "vmgroup.yaml")
	archive := filepath.Join(m.dir, "kubectl-vmgroup_"+m.version+"_linux_"+runtime.GOARCH+".tar.gz")
	m.people(t, filepath.Join(programs, "validate-krew-manifest"), "-manifest", manifest, "-skip-install")
	m.people(t, filepath.Join(programs, "krew"), "install", "--manifest="+manifest, "--archive="+archive)
	if said := m.people(t, "kubectl", "vmgroup", "version"); !strings.Contains(said, m.version) {
		t.Errorf("the plugin prints version %q, want %s", said, m.version)
	}
}

// people runs a command as users with the released plugin do, and returns its output.
func (m *madeRelease) people(t *testing.T, program string, args ...string) string {
	t.Helper()
	// env finds the program on the path of these users.
	command := exec.CommandContext(t.Context(), "env", append([]string{program}, args...)...)
	command.Env = m.plugin
	out, err := command.CombinedOutput()
	world.heard(string(out))
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// theChartFromARegistry installs the chart by its address, and lets the released plugin check the hub.
func (m *madeRelease) theChartFromARegistry(t *testing.T) {
	must(t, world.hub.Create(t.Context(), restrictedNamespace()))
	notes, err := world.helm.run(t.Context(), "install", "released", "oci://"+m.registry+"/charts/vmgroup-operator", "--version="+m.version, "--plain-http",
		"--wait", "--timeout="+helmPatience)
	must(t, err)
	world.heard(notes)
	m.runs(t)
	uninstallRelease(t, "released")
}

// theManifests applies the file of the hub, and deletes its objects.
func (m *madeRelease) theManifests(t *testing.T) {
	file := filepath.Join(m.dir, "install.yaml")
	m.people(t, "kubectl", "apply", "-f", file)
	m.people(t, "kubectl", "rollout", "status", "deployment/vmgroup-operator", "-n", namespace, "--timeout="+helmPatience)
	m.people(t, "kubectl", "apply", "--dry-run=client", "-f", filepath.Join(m.dir, "member.yaml")) // the API server knows no namespaces of a dry run
	m.runs(t)
	// A CRD is deleted with all objects of its kind, so a policy of the hub wants a confirmation.
	m.people(t, "sh", "-ec", `for crd in $(kubectl get crd --output=name | grep vm.codeconnect); do
		kubectl annotate "$crd" "vm.codeconnect.vmworld.com/confirm-deletion=$(kubectl get "$crd" --output=jsonpath={.metadata.uid})"
	done`)
	world.uninstalled = append(world.uninstalled, time.Now())
	m.people(t, "kubectl", "delete", "-f", file, "--timeout="+helmPatience)
	await.Until(t, "the namespace to go", func(ctx context.Context) (bool, error) {
		err := world.hub.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{})
		return err != nil, client.IgnoreNotFound(err)
	})
	world.gone = append(world.gone, time.Now())
}

// runs checks that the Pods run the released image, which the node pulled by its digest, and that the plugin finds no problem.
func (m *madeRelease) runs(t *testing.T) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(m.dir, "oci", "index.json"))
	must(t, err)
	var index struct{ Manifests []struct{ Digest string } }
	must(t, json.Unmarshal(content, &index))
	want := m.registry + "/vmgroup-operator@" + index.Manifests[0].Digest
	var last string
	await.Until(t, "three Ready Pods", func(ctx context.Context) (bool, error) {
		all, err := operatorPods(ctx)
		ready := 0
		for i := range all {
			if image := all[i].Spec.Containers[0].Image; image != want {
				t.Errorf("Pod %s has image %s, want %s", all[i].Name, image, want)
			}
			if isReady(&all[i]) && strings.HasSuffix(all[i].Status.ContainerStatuses[0].ImageID, want) {
				ready++
			}
		}
		return ready == 3, err
	}, func() string { return last })
	await.Until(t, "a hub without problems", func(ctx context.Context) (bool, error) {
		command := exec.CommandContext(ctx, "env", "kubectl", "vmgroup", "check")
		command.Env = m.plugin
		var out bytes.Buffer
		command.Stdout, command.Stderr = &out, &out
		err := command.Run()
		last = out.String()
		world.heard(last)
		return err == nil, nil
	}, func() string { return last })
}
