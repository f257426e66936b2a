package oci

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// dockerManifest is an entry of manifest.json, which every version of `docker load` reads.
type dockerManifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// WriteArchive writes one file for `docker load`, `podman load` and `ctr images import`. It replaces an existing file. The format is that
// of `docker save` since Docker 25: an OCI layout with an additional manifest.json, so that the digest after loading is [Bundle.Digest].
// Older versions of Docker read only manifest.json and load the first platform.
func (b *Bundle) WriteArchive(file string) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make the directory of the image archive: %w", err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(file), ".archive-*")
	if err != nil {
		return fmt.Errorf("make a directory for the image archive: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	layout := filepath.Join(dir, "layout")
	if err := b.writeLayout(layout); err != nil {
		return err
	}
	manifest, err := b.dockerManifest()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(layout, "manifest.json"), manifest, 0o644); err != nil {
		return fmt.Errorf("write the image archive: %w", err)
	}
	archive, err := os.Create(filepath.Join(dir, "archive.tar"))
	if err != nil {
		return fmt.Errorf("write the image archive: %w", err)
	}
	if err := archiveDirectory(archive, layout); err != nil {
		_ = archive.Close()
		return fmt.Errorf("write the image archive: %w", err)
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("write the image archive: %w", err)
	}
	if err := os.Rename(archive.Name(), file); err != nil {
		return fmt.Errorf("put the image archive into place: %w", err)
	}
	return nil
}

func (b *Bundle) dockerManifest() ([]byte, error) {
	manifest, err := b.images[0].Manifest()
	if err != nil {
		return nil, fmt.Errorf("read the image's manifest: %w", err)
	}
	entry := dockerManifest{Config: blob(manifest.Config), RepoTags: []string{b.tag.String()}}
	for _, layer := range manifest.Layers {
		entry.Layers = append(entry.Layers, blob(layer))
	}
	return json.Marshal([]dockerManifest{entry})
}

func blob(descriptor v1.Descriptor) string {
	return path.Join("blobs", descriptor.Digest.Algorithm, descriptor.Digest.Hex)
}

// archiveDirectory writes the files below dir. Each blob must fit into memory.
func archiveDirectory(out io.Writer, dir string) error {
	var entries []File
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		file := File{Path: "/" + name, Mode: 0o644}
		if entry.IsDir() {
			file.Mode = fs.ModeDir | 0o755
		} else if file.Content, err = fs.ReadFile(root, name); err != nil {
			return err
		}
		entries = append(entries, file)
		return nil
	})
	if err != nil {
		return err
	}
	return writeTar(out, entries)
}
