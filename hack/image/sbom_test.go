package main

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"runtime"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// checkSBOM compares the SBOM with the build information of the program.
func checkSBOM(t *testing.T, file, program string, digest v1.Hash) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(content), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if bom.SpecVersion != cdx.SpecVersion1_6 || bom.Metadata.Timestamp != "1970-01-01T00:16:40Z" || bom.SerialNumber == "" {
		t.Errorf("version %s, time %s, serial number %q", bom.SpecVersion, bom.Metadata.Timestamp, bom.SerialNumber)
	}
	if !strings.Contains(bom.Metadata.Component.PackageURL, digest.Hex) {
		t.Errorf("it is about %s, want %s", bom.Metadata.Component.PackageURL, digest)
	}
	components := map[string]cdx.Component{}
	known := map[string]bool{bom.Metadata.Component.BOMRef: true}
	for _, component := range *bom.Components {
		components[component.Name] = component
		known[component.BOMRef] = true
		if component.Licenses == nil || len(*component.Licenses) == 0 {
			t.Errorf("%s has no license", component.Name)
		}
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range info.Deps {
		component, there := components[module.Path]
		if !there || component.Version != module.Version || component.Hashes == nil {
			t.Errorf("%s %s is linked, the SBOM has %q", module.Path, module.Version, component.Version)
		}
	}
	const besidesModules = 3
	if len(components) != len(info.Deps)+besidesModules {
		t.Errorf("%d components, want %d modules, the operator, the standard library and the certificate authorities",
			len(components), len(info.Deps))
	}
	if components["std"].Version != runtime.Version() {
		t.Errorf("standard library %s, want %s", components["std"].Version, runtime.Version())
	}
	checkGraph(t, bom, known)
}

// checkGraph checks that the graph names the existing components, and that all are reachable from the image.
func checkGraph(t *testing.T, bom cdx.BOM, known map[string]bool) {
	t.Helper()
	on := map[string][]string{}
	for _, dependency := range *bom.Dependencies {
		if dependency.Dependencies != nil {
			on[dependency.Ref] = *dependency.Dependencies
		}
	}
	reached := map[string]bool{}
	for todo := []string{bom.Metadata.Component.BOMRef}; len(todo) > 0; {
		reference := todo[0]
		todo = todo[1:]
		if reached[reference] {
			continue
		}
		reached[reference] = true
		if !known[reference] {
			t.Errorf("the graph names %s, which is no component", reference)
		}
		todo = append(todo, on[reference]...)
	}
	for reference := range known {
		if !reached[reference] {
			t.Errorf("nothing depends on %s", reference)
		}
	}
}
