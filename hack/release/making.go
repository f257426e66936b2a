package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
	"github.com/codeconnect/vmgroup-operator/hack/image/operator"
)

// making is one run of the command.
type making struct {
	root, version, registry, push string
	platforms                     []string
	source                        commit

	// dir is the unfinished release. programs is a directory of compiled programs, which is not released.
	dir, programs string
	notes         string
	changes       []change
	bundle        *oci.Bundle
	// sboms are the SBOMs of the images, in their order.
	sboms [][]byte
	// chart is the packaged chart, and chartMetadata its Chart.yaml as JSON.
	chart, chartMetadata []byte
	statement            []byte
	plugins              []packed
}

// imageName is the name of the image with its tag.
func (m *making) imageName() string {
	return path.Join(m.registry, "vmgroup-operator") + ":" + m.version
}

func (m *making) release() operator.Release {
	return operator.Release{Version: m.version, Revision: m.source.id, Created: m.source.at}
}

// write makes the release in a temporary directory beside its place, and moves it there as a whole: an interrupted run leaves nothing that
// looks like a release.
func (m *making) write(ctx context.Context, place string) (err error) {
	if err := m.readChangelog(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return err
	}
	if m.dir, err = os.MkdirTemp(filepath.Dir(place), ".unfinished-*"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(m.dir) }()
	if m.programs, err = os.MkdirTemp("", "vmgroup-release-*"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(m.programs) }()
	for _, step := range []func(context.Context) error{m.makeImage, m.makeChart, m.makeManifests, m.makePlugins, m.makeProvenance, m.makeLayout, m.finish} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(place); err != nil {
		return fmt.Errorf("remove the previous release: %w", err)
	}
	if err := os.Rename(m.dir, place); err != nil {
		return fmt.Errorf("put the release into place: %w", err)
	}
	fmt.Printf("release: wrote %s from commit %s, image %s\n", place, m.source.id, m.bundle.Digest())
	if len(m.platforms) < len(allPlatforms) {
		fmt.Printf("release: NOTE: it is for %s only; a release for others has all of %s\n", strings.Join(m.platforms, ","), strings.Join(allPlatforms, ","))
	}
	return m.pushFrom(ctx, place)
}

func (m *making) readChangelog() error {
	content, err := os.ReadFile(filepath.Join(m.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	text, err := section(string(content), m.version)
	if err != nil {
		return err
	}
	m.notes = notes(text, linksOf(m.version))
	m.changes, err = changes(text, linksOf(m.version))
	return err
}

// makeImage compiles the manager for each platform, and makes the image, its archive and the SBOMs.
func (m *making) makeImage(ctx context.Context) error {
	var images []oci.Image
	for _, platform := range withImage(m.platforms) {
		program := m.program(operator.Manager, platform)
		if err := operator.Compile(ctx, m.root, platform, m.version, program, os.Stderr); err != nil {
			return err
		}
		if err := copyProgram(program, filepath.Join(m.dir, "manager_"+m.version+"_"+suffix(platform))); err != nil {
			return err
		}
		images = append(images, operator.Image(program, platform, m.release()))
	}
	var err error
	if m.bundle, err = oci.New(m.imageName(), images...); err != nil {
		return err
	}
	for n, platform := range withImage(m.platforms) {
		digest, err := m.bundle.Images()[n].Digest()
		if err != nil {
			return err
		}
		sbom, err := operator.SBOM(ctx, m.contents(operator.Manager, platform, digest.String()))
		if err != nil {
			return err
		}
		m.sboms = append(m.sboms, sbom)
		if err := m.put("vmgroup-operator_"+m.version+"_"+suffix(platform)+".cdx.json", sbom); err != nil {
			return err
		}
	}
	return m.bundle.WriteArchive(filepath.Join(m.dir, "vmgroup-operator-"+m.version+".images.tar"))
}

// makeChart packs the chart with the digest of the image.
func (m *making) makeChart(context.Context) error {
	members, metadata, err := chartMembers(filepath.Join(m.root, "charts", "vmgroup-operator"), pins{
		version: m.version, registry: m.registry, digest: m.bundle.Digest(), changes: m.changes,
	})
	if err != nil {
		return err
	}
	m.chartMetadata = metadata
	if m.chart, err = tarball(members, m.source.at); err != nil {
		return err
	}
	return m.put(m.chartFile(), m.chart)
}

func (m *making) chartFile() string { return "vmgroup-operator-" + m.version + ".tgz" }

// makeManifests writes what needs no compiler: manifests, copies and the notes.
func (m *making) makeManifests(ctx context.Context) error {
	image := strings.TrimSuffix(m.imageName(), ":"+m.version)
	if err := renderManifests(ctx, m.root, m.dir, image, m.bundle.Digest()); err != nil {
		return err
	}
	if err := copyFiles(m.root, m.dir, m.version); err != nil {
		return err
	}
	return m.put("RELEASE_NOTES.md", []byte(m.notes))
}

// makePlugins compiles the kubectl plugin for each platform, and packs it.
func (m *making) makePlugins(ctx context.Context) error {
	license, err := os.ReadFile(filepath.Join(m.root, "LICENSE"))
	if err != nil {
		return err
	}
	for _, platform := range m.platforms {
		program := m.program(operator.Plugin, platform)
		if err := operator.Plugin.Compile(ctx, m.root, platform, m.version, program, os.Stderr); err != nil {
			return err
		}
		content, err := os.ReadFile(program)
		if err != nil {
			return err
		}
		name, archive, err := pluginArchive(m.version, platform, content, license, m.source.at)
		if err != nil {
			return err
		}
		if err := m.put(name, archive); err != nil {
			return err
		}
		sum, err := sumOf(filepath.Join(m.dir, name))
		if err != nil {
			return err
		}
		m.plugins = append(m.plugins, packed{platform: platform, archive: name, sum: sum})
		sbom, err := operator.Plugin.SBOM(ctx, m.contents(operator.Plugin, platform, ""))
		if err != nil {
			return err
		}
		if err := m.put(pluginProgram+"_"+m.version+"_"+suffix(platform)+".cdx.json", sbom); err != nil {
			return err
		}
	}
	manifest, err := krewManifest(m.version, m.plugins)
	if err != nil {
		return err
	}
	return m.put("vmgroup.yaml", manifest)
}

// makeProvenance states the origin of all files so far, and of the image and the chart in the layout.
func (m *making) makeProvenance(context.Context) error {
	files, err := filesBelow(m.dir)
	if err != nil {
		return err
	}
	goSum, err := sumOf(filepath.Join(m.root, "go.sum"))
	if err != nil {
		return err
	}
	chart, err := m.chartArtifact().Build()
	if err != nil {
		return err
	}
	digest, err := chart.Digest()
	if err != nil {
		return err
	}
	subjects := append([]resource{
		manifestSubject("oci/vmgroup-operator:"+m.version, m.bundle.Digest()), manifestSubject("oci/charts/vmgroup-operator:"+m.version, digest.String()),
	}, fileSubjects(files)...)
	m.statement, err = provenance(origin{
		version: m.version, registry: m.registry, platforms: m.platforms, commit: m.source.id, goVersion: runtime.Version(), goSum: goSum,
	}, subjects)
	if err != nil {
		return err
	}
	return m.put("provenance.intoto.jsonl", m.statement)
}

// finish sets modes, writes the checksums, and checks that the sources are still those of the commit.
func (m *making) finish(ctx context.Context) error {
	files, err := os.OpenRoot(m.dir)
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()
	err = fs.WalkDir(files.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if entry.IsDir() || strings.HasPrefix(entry.Name(), "manager_") {
			mode = 0o755
		}
		return files.Chmod(name, mode)
	})
	if err != nil {
		return err
	}
	if err := writeSums(m.dir); err != nil {
		return err
	}
	after, err := cleanCommit(ctx, m.root)
	if err != nil {
		return fmt.Errorf("after the build: %w", err)
	}
	if after.id != m.source.id {
		return fmt.Errorf("the commit changed from %s to %s during the build: run the command again", m.source.id, after.id)
	}
	return nil
}

// program is the compiled file of a program.
func (m *making) program(of operator.Program, platform string) string {
	return filepath.Join(m.programs, suffix(platform), of.Command)
}

func (m *making) contents(of operator.Program, platform, digest string) operator.Contents {
	return operator.Contents{Root: m.root, Program: m.program(of, platform), Platform: platform, Digest: digest, Release: m.release()}
}

// put writes a file of the release.
func (m *making) put(name string, content []byte) error {
	return os.WriteFile(filepath.Join(m.dir, name), content, 0o644)
}

func copyProgram(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o755)
}
