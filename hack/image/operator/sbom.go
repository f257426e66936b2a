package operator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// Contents describes the parts of an image, or a single program.
type Contents struct {
	// Root is the directory of the module.
	Root string
	// Program is the compiled program.
	Program string
	// Platform of the program.
	Platform string
	// Digest of the image for this platform. [Program.SBOM] needs none.
	Digest  string
	Release Release
}

// SBOM lists the contents of the image as CycloneDX 1.6 in JSON: the operator, its linked modules with their checksums and licenses, Go's
// standard library, and the certificate authorities. The same image has the same SBOM: its time is the release's, and its serial number
// comes from the digest.
func SBOM(ctx context.Context, contents Contents) ([]byte, error) {
	authorities, err := authoritiesComponent(ctx, contents.Root)
	if err != nil {
		return nil, err
	}
	program, linked, err := Manager.linked(ctx, contents)
	if err != nil {
		return nil, err
	}
	program.Evidence = at(ProgramPath)
	image := imageComponent(contents)
	linked.components = slices.Insert(linked.components, 1, authorities)
	linked.components = slices.Insert(linked.components, 0, program)
	linked.graph = append(linked.graph, dependsOn(image.BOMRef, program.BOMRef, authorities.BOMRef), dependsOn(authorities.BOMRef))
	return linked.encode(image, contents.Digest, contents.Release)
}

// SBOM lists the contents of a program that people download, as [SBOM] lists those of the image. Its serial number comes from the program's
// checksum.
func (p Program) SBOM(ctx context.Context, contents Contents) ([]byte, error) {
	program, linked, err := p.linked(ctx, contents)
	if err != nil {
		return nil, err
	}
	program.Properties = platformProperty(contents)
	return linked.encode(program, (*program.Hashes)[0].Value, contents.Release)
}

// parts are the components of an SBOM, with their imports.
type parts struct {
	components []cdx.Component
	graph      []cdx.Dependency
}

// linked returns the component of a program, and the parts that are linked into it. The first part is the standard library.
func (p Program) linked(ctx context.Context, contents Contents) (cdx.Component, parts, error) {
	main, others, err := p.linkedModules(ctx, contents.Root, contents.Platform, contents.Program)
	if err != nil {
		return cdx.Component{}, parts{}, err
	}
	program, err := p.component(contents, main)
	if err != nil {
		return cdx.Component{}, parts{}, err
	}
	standard, err := standardLibrary(contents.Program)
	if err != nil {
		return cdx.Component{}, parts{}, err
	}
	linked := parts{
		components: []cdx.Component{standard},
		graph: []cdx.Dependency{
			dependsOn(program.BOMRef, append(references(main, others), standard.BOMRef)...), dependsOn(standard.BOMRef),
		},
	}
	for _, module := range others {
		component, err := moduleComponent(module)
		if err != nil {
			return cdx.Component{}, parts{}, err
		}
		linked.components = append(linked.components, component)
		linked.graph = append(linked.graph, dependsOn(component.BOMRef, append(references(module, others), standard.BOMRef)...))
	}
	return program, linked, nil
}

// encode writes the SBOM of a subject. The serial number comes from the identity of the subject.
func (p parts) encode(subject cdx.Component, identity string, release Release) ([]byte, error) {
	bom := cdx.NewBOM()
	bom.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceOID, []byte(identity)).String()
	bom.Metadata = &cdx.Metadata{Timestamp: timestamp(release), Component: &subject}
	bom.Components, bom.Dependencies = &p.components, &p.graph
	var out bytes.Buffer
	encoder := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false)
	if err := encoder.EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("write the SBOM: %w", err)
	}
	return out.Bytes(), nil
}

func timestamp(release Release) string {
	created := release.Created
	if created.IsZero() {
		created = time.Unix(0, 0)
	}
	return created.UTC().Format(time.RFC3339)
}

func imageComponent(contents Contents) cdx.Component {
	reference := "pkg:oci/vmgroup-operator@" + strings.Replace(contents.Digest, ":", "%3A", 1)
	return cdx.Component{
		BOMRef: reference, Type: cdx.ComponentTypeContainer, Name: "vmgroup-operator", Version: contents.Release.Version,
		PackageURL: reference, Licenses: declared("Apache-2.0"),
		Properties: platformProperty(contents),
	}
}

func platformProperty(contents Contents) *[]cdx.Property {
	return &[]cdx.Property{{Name: "platform", Value: contents.Platform}}
}

func (p Program) component(contents Contents, main linkedModule) (cdx.Component, error) {
	content, err := os.ReadFile(contents.Program)
	if err != nil {
		return cdx.Component{}, fmt.Errorf("read the program for the SBOM: %w", err)
	}
	sum := sha256.Sum256(content)
	licenses, err := licensesOf(main.dir)
	if err != nil {
		return cdx.Component{}, err
	}
	reference := "pkg:golang/" + main.path + "@" + contents.Release.Version + "?type=module#cmd/" + p.Command
	return cdx.Component{
		BOMRef: reference, Type: cdx.ComponentTypeApplication, Name: main.path, Version: contents.Release.Version,
		PackageURL: reference, Licenses: declared(licenses...), Hashes: sha256Hash(hex.EncodeToString(sum[:])),
	}, nil
}

func moduleComponent(module linkedModule) (cdx.Component, error) {
	licenses, err := licensesOf(module.dir)
	if err != nil {
		return cdx.Component{}, fmt.Errorf("module %s: %w", module.path, err)
	}
	return cdx.Component{
		BOMRef: module.reference(), Type: cdx.ComponentTypeLibrary, Name: module.path, Version: module.version,
		Scope: cdx.ScopeRequired, PackageURL: module.reference(), Licenses: declared(licenses...), Hashes: sha256Hash(module.sum),
	}, nil
}

// reference returns the package URL of a module.
func (m linkedModule) reference() string {
	return "pkg:golang/" + m.path + "@" + m.version + "?type=module"
}

// standardLibrary has the name that vulnerability scanners expect.
func standardLibrary(program string) (cdx.Component, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return cdx.Component{}, fmt.Errorf("read which Go made the program: %w", err)
	}
	version := info.GoVersion
	reference := "pkg:golang/std@" + version + "?type=module"
	return cdx.Component{
		BOMRef: reference, Type: cdx.ComponentTypeLibrary, Name: "std", Version: version, Scope: cdx.ScopeRequired,
		PackageURL: reference, Licenses: declared("BSD-3-Clause"),
	}, nil
}

// authoritiesComponent is a module that is not linked. The program that makes the image contains the module and writes its data.
func authoritiesComponent(ctx context.Context, root string) (cdx.Component, error) {
	version, err := moduleVersion(ctx, root, rootsModule)
	if err != nil {
		return cdx.Component{}, err
	}
	module := linkedModule{path: rootsModule, version: version}
	sum := sha256.Sum256(roots())
	return cdx.Component{
		BOMRef: module.reference(), Type: cdx.ComponentTypeData, Name: rootsModule, Version: version,
		PackageURL: module.reference(), Licenses: declared("MPL-2.0"), Hashes: sha256Hash(hex.EncodeToString(sum[:])),
		Evidence: at(certificateAuthorities),
	}, nil
}

// at returns the path of a component in the image.
func at(path string) *cdx.Evidence {
	return &cdx.Evidence{Occurrences: &[]cdx.EvidenceOccurrence{{Location: path}}}
}

func sha256Hash(value string) *[]cdx.Hash {
	return &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: value}}
}

// declared lists licenses that the authors state, or returns nil if there are none.
func declared(ids ...string) *cdx.Licenses {
	if len(ids) == 0 {
		return nil
	}
	licenses := make(cdx.Licenses, 0, len(ids))
	for _, id := range ids {
		license := &cdx.License{ID: id, Acknowledgement: cdx.LicenseAcknowledgementDeclared}
		licenses = append(licenses, cdx.LicenseChoice{License: license})
	}
	return &licenses
}

func dependsOn(reference string, on ...string) cdx.Dependency {
	return cdx.Dependency{Ref: reference, Dependencies: &on}
}

// references returns the package URLs of a module's imports.
func references(module linkedModule, others []linkedModule) []string {
	byPath := map[string]linkedModule{}
	for _, other := range others {
		byPath[other.path] = other
	}
	found := make([]string, 0, len(module.imports)+1)
	for _, path := range module.imports {
		if other, linked := byPath[path]; linked {
			found = append(found, other.reference())
		}
	}
	return found
}
