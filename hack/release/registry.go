package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
)

// Media types in a registry.
const (
	chartConfigType  = "application/vnd.cncf.helm.config.v1+json"
	chartContentType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	sbomType         = "application/vnd.cyclonedx+json"
	statementType    = "application/vnd.in-toto+json"
)

// The layout is in a directory of its own, and has the image and the chart under these tags.
const layoutFolder = "oci"

func imageTag(version string) string { return version }
func chartTag(version string) string { return "chart-" + version }

// chartArtifact is the chart as `helm push` stores it. Its time is that of the commit.
func (m *making) chartArtifact() oci.Artifact {
	return oci.Artifact{
		Config: &oci.Blob{MediaType: chartConfigType, Content: m.chartMetadata},
		Blobs:  []oci.Blob{{MediaType: chartContentType, Content: m.chart}},
		Annotations: map[string]string{
			"org.opencontainers.image.title": "vmgroup-operator", "org.opencontainers.image.version": m.version,
			"org.opencontainers.image.description": m.chartDescription(), "org.opencontainers.image.source": repository,
			"org.opencontainers.image.url": repository, "org.opencontainers.image.revision": m.source.id,
			"org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.created": m.source.at.Format(time.RFC3339),
		},
	}
}

func (m *making) chartDescription() string {
	var chart struct{ Description string }
	if err := json.Unmarshal(m.chartMetadata, &chart); err != nil {
		return ""
	}
	return chart.Description
}

// makeLayout writes the layout: the image with an SBOM of each platform, the chart, and the provenance of both.
func (m *making) makeLayout(context.Context) error {
	var entries []oci.Entry
	add := func(artifact oci.Artifact, tag string) (v1.Image, error) {
		built, err := artifact.Build()
		entries = append(entries, oci.Entry{Artifact: built, Tag: tag})
		return built, err
	}
	about := func(subject v1.Descriptor, kind, title string, content []byte) error {
		_, err := add(oci.Artifact{Type: kind, Blobs: []oci.Blob{{MediaType: kind, Content: content, Title: title}}, Subject: &subject}, "")
		return err
	}
	for n, image := range m.bundle.Images() {
		subject, err := oci.Describe(image)
		if err != nil {
			return err
		}
		if err := about(subject, sbomType, "sbom.cdx.json", m.sboms[n]); err != nil {
			return err
		}
	}
	subject, err := m.bundle.Descriptor()
	if err != nil {
		return err
	}
	if err := about(subject, statementType, "provenance.intoto.jsonl", m.statement); err != nil {
		return err
	}
	chart, err := add(m.chartArtifact(), chartTag(m.version))
	if err != nil {
		return err
	}
	if subject, err = oci.Describe(chart); err != nil {
		return err
	}
	if err := about(subject, statementType, "provenance.intoto.jsonl", m.statement); err != nil {
		return err
	}
	return m.bundle.WriteLayout(filepath.Join(m.dir, layoutFolder), entries...)
}

// checkRegistry refuses a flag whose value is not a registry with an optional path. A cleaned name would differ from the one in the chart.
func checkRegistry(flag, above string) error {
	if above == "" || !strings.Contains(above, "://") && path.Clean(above) == above && !strings.HasPrefix(above, "/") {
		return nil
	}
	return fmt.Errorf("%s is %q: use the form registry.example.com/team, without a scheme and empty parts", flag, above)
}

// pushTo has the names in the registry by the tags of the layout.
func (m *making) pushTo() map[string]string {
	above := m.push
	if above != "" {
		above += "/"
	}
	return map[string]string{
		imageTag(m.version): above + "vmgroup-operator:" + m.version, chartTag(m.version): above + "charts/vmgroup-operator:" + m.version,
	}
}

// pushFrom copies the layout of a release to a registry, if one is requested.
func (m *making) pushFrom(ctx context.Context, place string) error {
	if m.push == "" {
		fmt.Printf("release: check it with `cd %s && shasum -a 256 -c %s`; copy it to a registry with PUSH=registry.example.com/team\n", place, sumsFile)
		return nil
	}
	fmt.Println("release: copying to", m.push)
	copied, err := oci.Copy(ctx, filepath.Join(place, layoutFolder), m.pushTo())
	for _, name := range copied {
		fmt.Println("release: copied", name)
	}
	return err
}
