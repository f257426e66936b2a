package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	defaultFileMode = fs.FileMode(0o444)
	defaultDirMode  = fs.FileMode(0o755)
)

// newLayer makes a layer with these files and their parent directories.
func newLayer(files []File) (v1.Layer, error) {
	entries, err := withDirectories(files)
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	if err := writeTar(&content, entries); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil }
	// Compression is the slowest step. Without the cache it would run again for each written file.
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("compress a layer: %w", err)
	}
	return layer, nil
}

// withDirectories returns the files and their parent directories. A directory precedes its content.
func withDirectories(files []File) ([]File, error) {
	byPath := map[string]File{}
	for _, file := range files {
		name := path.Clean(file.Path)
		if !path.IsAbs(name) || name == "/" {
			return nil, fmt.Errorf("the path %q in an image is not absolute, or is the root", file.Path)
		}
		if _, twice := byPath[name]; twice {
			return nil, fmt.Errorf("the path %q is twice in a layer", name)
		}
		file.Path = name
		byPath[name] = file
	}
	for _, file := range files {
		for dir := path.Dir(path.Clean(file.Path)); dir != "/"; dir = path.Dir(dir) {
			above, exists := byPath[dir]
			if exists && !above.Mode.IsDir() {
				return nil, fmt.Errorf("the path %q is a file, and %q is below it", dir, file.Path)
			}
			if !exists {
				byPath[dir] = File{Path: dir, Mode: fs.ModeDir | defaultDirMode}
			}
		}
	}
	entries := make([]File, 0, len(byPath))
	for _, file := range byPath {
		entries = append(entries, file)
	}
	slices.SortFunc(entries, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return entries, nil
}

// writeTar writes the entries in their order. Root owns them, and the program runs as another user.
func writeTar(out io.Writer, entries []File) error {
	writer := tar.NewWriter(out)
	for _, entry := range entries {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: strings.TrimPrefix(entry.Path, "/"), Size: int64(len(entry.Content)),
			Mode: int64(permissions(entry.Mode)), ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR,
		}
		if entry.Mode.IsDir() {
			header.Typeflag, header.Name, header.Size = tar.TypeDir, header.Name+"/", 0
		}
		if err := writer.WriteHeader(header); err != nil {
			return fmt.Errorf("write %s to a layer: %w", entry.Path, err)
		}
		if entry.Mode.IsDir() {
			continue
		}
		if _, err := writer.Write(entry.Content); err != nil {
			return fmt.Errorf("write %s to a layer: %w", entry.Path, err)
		}
	}
	return writer.Close()
}

// permissions returns the lower twelve bits of a Unix mode.
func permissions(mode fs.FileMode) uint32 {
	const sticky = 0o1000
	permissions := uint32(mode.Perm())
	if permissions == 0 {
		permissions = uint32(defaultFileMode)
		if mode.IsDir() {
			permissions = uint32(defaultDirMode)
		}
	}
	if mode&fs.ModeSticky != 0 {
		permissions |= sticky
	}
	return permissions
}
