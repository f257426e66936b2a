package oci

import (
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// Annotations of an entry of index.json: containerd reads the full name, other tools read the tag.
const (
	annotationFullName = "io.containerd.image.name"
	annotationTag      = "org.opencontainers.image.ref.name"
)

// Entry is an artifact of a layout besides the image.
type Entry struct {
	Artifact v1.Image
	// Tag names the artifact in the layout. It is empty if the artifact has a subject, by which tools find it.
	Tag string
}

// WriteLayout writes an OCI image layout and replaces the directory. After a failure, the directory is unchanged. The artifacts follow the
// image, in their order.
func (b *Bundle) WriteLayout(dir string, more ...Entry) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("make the directory of the image layout: %w", err)
	}
	temporary, err := os.MkdirTemp(filepath.Dir(dir), ".oci-*")
	if err != nil {
		return fmt.Errorf("make a directory for the image layout: %w", err)
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	if err := b.writeLayout(temporary, more...); err != nil {
		return err
	}
	// MkdirTemp creates directories for their owner only.
	if err := os.Chmod(temporary, 0o755); err != nil {
		return fmt.Errorf("make the image layout readable: %w", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the image layout of before: %w", err)
	}
	if err := os.Rename(temporary, dir); err != nil {
		return fmt.Errorf("put the image layout into place: %w", err)
	}
	return nil
}

func (b *Bundle) writeLayout(dir string, more ...Entry) error {
	descriptor := v1.Descriptor{Annotations: map[string]string{
		annotationFullName: b.Name(), annotationTag: b.tag.TagStr(),
	}}
	if len(b.images) == 1 {
		config, err := b.images[0].ConfigFile()
		if err != nil {
			return fmt.Errorf("read the image's configuration: %w", err)
		}
		descriptor.Platform = config.Platform()
	}
	entries := []mutate.IndexAddendum{{Add: b.root, Descriptor: descriptor}}
	for _, entry := range more {
		addendum := mutate.IndexAddendum{Add: entry.Artifact}
		if entry.Tag != "" {
			addendum.Annotations = map[string]string{annotationTag: entry.Tag}
		}
		entries = append(entries, addendum)
	}
	index := mutate.AppendManifests(empty.Index, entries...)
	if _, err := layout.Write(dir, index); err != nil {
		return fmt.Errorf("write the image layout: %w", err)
	}
	return nil
}
