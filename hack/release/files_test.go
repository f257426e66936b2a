package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestChecksumsNoticeAChangedByteOfAnyFile(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "b/two", "two")
	put(t, dir, "a", "one")
	if err := writeSums(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		t.Fatal(err)
	}
	want := "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed  a\n3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3  b/two\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("checksums (-want +got):\n%s", diff)
	}
	check := func() error {
		command := exec.CommandContext(t.Context(), "shasum", "-a", "256", "-c", sumsFile)
		command.Dir = dir
		return command.Run()
	}
	if err := check(); err != nil {
		t.Errorf("unchanged files: %v", err)
	}
	put(t, dir, "b/two", "twO")
	if err := check(); err == nil {
		t.Error("a changed byte is not noticed")
	}
}

func TestProvenanceHasSubjectsAndSourcesAndNoTime(t *testing.T) {
	out, err := provenance(origin{version: "0.2.0", platforms: []string{"linux/amd64"}, commit: "c0ffee", goVersion: "go1.26.8", goSum: "5eed"},
		append([]resource{manifestSubject("oci/x", "sha256:d1")}, fileSubjects([]file{{name: "a", sum: "51"}})...))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(out), "\n") != 1 {
		t.Errorf("the statement is not one line: %s", out)
	}
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := yaml.Unmarshal([]byte(`
_type: https://in-toto.io/Statement/v1
subject: [{name: oci/x, digest: {sha256: d1}}, {name: a, digest: {sha256: "51"}}]
predicateType: https://slsa.dev/provenance/v1
predicate:
  buildDefinition:
    buildType: `+repository+`/blob/v0.2.0/docs/contributing/release.md
    externalParameters: {version: 0.2.0, platforms: [linux/amd64], registry: ""}
    resolvedDependencies:
    - {uri: "git+`+repository+`@c0ffee", digest: {gitCommit: c0ffee}}
    - {name: go.sum, digest: {sha256: 5eed}}
    - {name: go, uri: "https://go.dev/dl/#go1.26.8"}
  runDetails: {builder: {id: "`+repository+`/hack/release"}}
`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statement (-want +got):\n%s", diff)
	}
}

func TestKrewManifestHasTheArchiveOfEachPlatform(t *testing.T) {
	out, err := krewManifest("0.2.0", []packed{
		{platform: "linux/arm64", archive: "a.tar.gz", sum: "aa"}, {platform: "windows/amd64", archive: "b.zip", sum: "bb"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got krewPlugin
	if err := yaml.UnmarshalStrict(out, &got); err != nil {
		t.Fatal(err)
	}
	selector := func(system, processor string) map[string]map[string]string {
		return map[string]map[string]string{"matchLabels": {"os": system, "arch": processor}}
	}
	from := repository + "/releases/download/v0.2.0/"
	want := []krewPlatform{
		{Selector: selector("linux", "arm64"), URI: from + "a.tar.gz", SHA256: "aa", Bin: "kubectl-vmgroup"},
		{Selector: selector("windows", "amd64"), URI: from + "b.zip", SHA256: "bb", Bin: "kubectl-vmgroup.exe"},
	}
	if diff := cmp.Diff(want, got.Spec.Platforms); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
	if got.Metadata["name"] != "vmgroup" || got.Spec.Version != "v0.2.0" {
		t.Errorf("name %q, version %q", got.Metadata["name"], got.Spec.Version)
	}
}

func TestArchivesDependOnTheirContentOnly(t *testing.T) {
	at := time.Unix(1795291200, 0)
	for _, platform := range []string{"linux/amd64", "windows/amd64"} {
		name, first, err := pluginArchive("0.2.0", platform, []byte("program"), []byte("license"), at)
		if err != nil {
			t.Fatal(err)
		}
		_, second, err := pluginArchive("0.2.0", platform, []byte("program"), []byte("license"), at.In(time.FixedZone("elsewhere", 3600)))
		if err != nil {
			t.Fatal(err)
		}
		if string(first) != string(second) {
			t.Errorf("%s depends on the time zone", name)
		}
	}
}

func TestPlatformsAreReleasedInOneOrder(t *testing.T) {
	for list, want := range map[string]string{
		"": strings.Join(allPlatforms, " "), "windows/amd64, linux/arm64,linux/arm64": "linux/arm64 windows/amd64",
	} {
		got, err := parsePlatforms(list)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q gives %v, %v", list, got, err)
		}
	}
	for list, want := range map[string]string{"linux/s390x": "is not released", "darwin/arm64": "has an image", ",": "is not released"} {
		if _, err := parsePlatforms(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", list, err, want)
		}
	}
}

func TestPlainRulesNeedNoChart(t *testing.T) {
	got := plainRules("# for developers\n# two lines\nexpr: x{namespace=\"NAMESPACE\"}\nrunbook_url: RUNBOOKS/a.md\n", "0.2.0")
	if want := "expr: x{namespace=\"vmgroup-operator-system\"}\nrunbook_url: " + repository + "/blob/v0.2.0/docs/runbooks/a.md\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
