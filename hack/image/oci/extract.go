package oci

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// Extract writes the root file system of an image of [Image.Build] into a directory that is empty or does not exist. The files belong to
// the current user.
func Extract(image v1.Image, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the directory of the root file system: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the directory of the root file system: %w", err)
	}
	defer func() { _ = root.Close() }()
	// Set the mode regardless of the umask: another user than the owner of the files runs the program.
	if err := root.Chmod(".", defaultDirMode); err != nil {
		return fmt.Errorf("open the directory of the root file system: %w", err)
	}
	content := mutate.Extract(image)
	defer func() { _ = content.Close() }()
	reader := tar.NewReader(content)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the layers of the image: %w", err)
		}
		if err := extractEntry(root, header, reader); err != nil {
			return fmt.Errorf("write %s of the root file system: %w", header.Name, err)
		}
	}
}

func extractEntry(root *os.Root, header *tar.Header, content io.Reader) error {
	name, mode := filepath.Clean(header.Name), header.FileInfo().Mode()
	if header.Typeflag == tar.TypeDir {
		if err := root.MkdirAll(name, 0o755); err != nil {
			return err
		}
		return root.Chmod(name, mode&(os.ModePerm|os.ModeSticky))
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Chmod(mode.Perm()), file.Close())
}
