package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
	"github.com/codeconnect/vmgroup-operator/hack/image/operator"
)

// making is one run of the command.
type making struct {
	root, out string
	reference string
	release   operator.Release
	platforms []string
}

// write makes the layout, the archive and the SBOMs. If push is not empty, it pushes the image there.
func (m *making) write(ctx context.Context, push string) error {
	programs, err := os.MkdirTemp("", "vmgroup-image-*")
	if err != nil {
		return fmt.Errorf("make a directory for the programs: %w", err)
	}
	defer func() { _ = os.RemoveAll(programs) }()
	bundle, err := m.bundle(ctx, programs)
	if err != nil {
		return err
	}
	layout, archive := filepath.Join(m.out, "oci"), filepath.Join(m.out, "vmgroup-operator.tar")
	if err := bundle.WriteLayout(layout); err != nil {
		return err
	}
	fmt.Println("image: wrote", layout+", an OCI image layout")
	if err := bundle.WriteArchive(archive); err != nil {
		return err
	}
	fmt.Println("image: wrote", archive+", an archive for docker, podman and ctr")
	if err := m.writeSBOMs(ctx, programs, bundle); err != nil {
		return err
	}
	fmt.Printf("image: %s@%s\n", bundle.Name(), bundle.Digest())
	if push == "" {
		m.hints(layout, archive, bundle)
		return nil
	}
	fmt.Println("image: pushing to", push)
	pushed, err := bundle.Push(ctx, push)
	if err != nil {
		return err
	}
	fmt.Println("image: pushed", pushed)
	return nil
}

// bundle compiles the operator for each platform into a directory and makes the images.
func (m *making) bundle(ctx context.Context, programs string) (*oci.Bundle, error) {
	images := make([]oci.Image, 0, len(m.platforms))
	for _, platform := range m.platforms {
		program := programFile(programs, platform)
		if err := operator.Compile(ctx, m.root, platform, m.release.Version, program, os.Stderr); err != nil {
			return nil, err
		}
		if info, err := os.Stat(program); err == nil {
			fmt.Printf("image: compiled the operator %s for %s, %.1f MiB\n",
				m.release.Version, platform, float64(info.Size())/(1<<20))
		}
		images = append(images, operator.Image(program, platform, m.release))
	}
	return oci.New(m.reference, images...)
}

// programFile returns the temporary file of the operator for a platform.
func programFile(dir, platform string) string {
	return filepath.Join(dir, strings.ReplaceAll(platform, "/", "-"), "manager")
}

// writeSBOMs writes an SBOM for each platform. It removes those of an earlier run, which describe another image.
func (m *making) writeSBOMs(ctx context.Context, programs string, bundle *oci.Bundle) error {
	before, err := filepath.Glob(filepath.Join(m.out, "vmgroup-operator*.cdx.json"))
	if err != nil {
		return err
	}
	for _, file := range before {
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("remove the SBOM of before: %w", err)
		}
	}
	for n, platform := range m.platforms {
		digest, err := bundle.Images()[n].Digest()
		if err != nil {
			return fmt.Errorf("digest of the image for %s: %w", platform, err)
		}
		sbom, err := operator.SBOM(ctx, operator.Contents{
			Root: m.root, Program: programFile(programs, platform), Platform: platform,
			Digest: digest.String(), Release: m.release,
		})
		if err != nil {
			return err
		}
		file := filepath.Join(m.out, "vmgroup-operator.cdx.json")
		if len(m.platforms) > 1 {
			file = filepath.Join(m.out, "vmgroup-operator-"+strings.ReplaceAll(platform, "/", "-")+".cdx.json")
		}
		if err := os.WriteFile(file, sbom, 0o644); err != nil {
			return fmt.Errorf("write the SBOM: %w", err)
		}
		fmt.Printf("image: wrote %s, the SBOM of %s\n", file, platform)
	}
	return nil
}

// extract writes the files of the image to a directory.
func (m *making) extract(ctx context.Context, dir string) error {
	if len(m.platforms) != 1 {
		return fmt.Errorf("-rootfs is for one platform, not for %s", strings.Join(m.platforms, ", "))
	}
	programs, err := os.MkdirTemp("", "vmgroup-image-*")
	if err != nil {
		return fmt.Errorf("make a directory for the program: %w", err)
	}
	defer func() { _ = os.RemoveAll(programs) }()
	bundle, err := m.bundle(ctx, programs)
	if err != nil {
		return err
	}
	return oci.Extract(bundle.Images()[0], dir)
}

func (m *making) hints(layout, archive string, bundle *oci.Bundle) {
	tag := bundle.Name()[strings.LastIndex(bundle.Name(), ":")+1:]
	fmt.Printf(`image: load or push it with one of
  docker load -i %[2]s
  ctr -n k8s.io images import %[2]s
  skopeo copy --all oci:%[1]s docker://registry.example.com/vmgroup-operator:%[3]s
  make image PUSH=registry.example.com/vmgroup-operator VERSION=%[3]s
`, layout, archive, tag)
}
