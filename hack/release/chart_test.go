package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

func TestTheChartOfAReleaseHasItsImageAndChanges(t *testing.T) {
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	digest := "sha256:" + strings.Repeat("0123", 16)
	members, metadata, err := chartMembers(filepath.Join(root, "charts", "vmgroup-operator"), pins{
		version: "0.2.0", registry: "registry.example.com/team", digest: digest, changes: []change{{Kind: "added", Description: "one: two"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]string{}
	for _, m := range members {
		content[m.name] = string(m.content)
		if strings.Contains(m.name, "/tests/") && !strings.Contains(m.name, "templates/tests/") || strings.Contains(m.name, "/ci/") {
			t.Errorf("the chart has %s", m.name)
		}
	}
	for _, name := range []string{"values.yaml", "files/defaults.yaml"} {
		var values struct {
			Image struct{ Registry, Repository, Digest string }
		}
		if err := yaml.Unmarshal([]byte(content["vmgroup-operator/"+name]), &values); err != nil {
			t.Fatal(err)
		}
		if values.Image.Digest != digest || values.Image.Registry != "registry.example.com/team" || values.Image.Repository != "vmgroup-operator" {
			t.Errorf("%s has image %+v", name, values.Image)
		}
	}
	var chart struct {
		Name        string
		Annotations map[string]string
	}
	if err := json.Unmarshal(metadata, &chart); err != nil {
		t.Fatal(err)
	}
	for annotation, want := range map[string]string{
		"artifacthub.io/changes":    "description: 'one: two'",
		"artifacthub.io/images":     "registry.example.com/team/vmgroup-operator:0.2.0@" + digest,
		"artifacthub.io/links":      "/blob/v0.2.0/docs/",
		"artifacthub.io/prerelease": "true",
	} {
		if !strings.Contains(chart.Annotations[annotation], want) {
			t.Errorf("annotation %s is %q, want %q in it", annotation, chart.Annotations[annotation], want)
		}
	}
	if strings.Contains(content["vmgroup-operator/README.md"], "/HEAD/") {
		t.Error("the README of the chart links to the newest pages")
	}
	if _, err := (pins{digest: digest}).values([]byte("image:\n  registry: \"\"\n")); err == nil || !strings.Contains(err.Error(), "want the one of the image") {
		t.Errorf("values without a digest: error %v", err)
	}
}
