package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// repository is the address of the sources.
const repository = "https://github.com/codeconnect/vmgroup-operator"

// digests of a subject or material, by algorithm.
type digests map[string]string

// resource is a subject, or something that the build read.
type resource struct {
	Name   string  `json:"name,omitempty"`
	URI    string  `json:"uri,omitempty"`
	Digest digests `json:"digest,omitempty"`
}

// statement is an in-toto statement, version 1, with SLSA provenance, version 1. It has no time and no name of a machine: another build of the
// commit gives the same bytes.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     struct {
		BuildDefinition struct {
			BuildType            string         `json:"buildType"`
			ExternalParameters   map[string]any `json:"externalParameters"`
			ResolvedDependencies []resource     `json:"resolvedDependencies"`
		} `json:"buildDefinition"`
		RunDetails struct {
			Builder struct {
				ID string `json:"id"`
			} `json:"builder"`
		} `json:"runDetails"`
	} `json:"predicate"`
}

// origin describes a build.
type origin struct {
	version, registry string
	platforms         []string
	commit            string
	goVersion         string
	// goSum is the SHA-256 of go.sum, which fixes all modules.
	goSum string
}

// provenance returns the statement about the subjects, as one line of JSON.
func provenance(of origin, subjects []resource) ([]byte, error) {
	made := statement{Type: "https://in-toto.io/Statement/v1", Subject: subjects, PredicateType: "https://slsa.dev/provenance/v1"}
	definition := &made.Predicate.BuildDefinition
	definition.BuildType = repository + "/blob/v" + of.version + "/docs/contributing/release.md"
	definition.ExternalParameters = map[string]any{"version": of.version, "platforms": of.platforms, "registry": of.registry}
	definition.ResolvedDependencies = []resource{
		{URI: "git+" + repository + "@" + of.commit, Digest: digests{"gitCommit": of.commit}},
		{Name: "go.sum", Digest: digests{"sha256": of.goSum}},
		{Name: "go", URI: "https://go.dev/dl/#" + of.goVersion},
	}
	made.Predicate.RunDetails.Builder.ID = repository + "/hack/release"
	out, err := json.Marshal(made)
	if err != nil {
		return nil, fmt.Errorf("write the provenance: %w", err)
	}
	return append(out, '\n'), nil
}

// manifestSubject is a manifest of the image layout as a subject.
func manifestSubject(name, digest string) resource {
	return resource{Name: name, Digest: digests{"sha256": strings.TrimPrefix(digest, "sha256:")}}
}

// fileSubjects are files of the release as subjects.
func fileSubjects(files []file) []resource {
	subjects := make([]resource, 0, len(files))
	for _, f := range files {
		subjects = append(subjects, resource{Name: f.name, Digest: digests{"sha256": f.sum}})
	}
	return subjects
}
