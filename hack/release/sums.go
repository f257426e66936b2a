package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// sumsFile lists the checksums of all other files. `sha256sum -c` and `shasum -a 256 -c` read it.
const sumsFile = "SHA256SUMS"

// file is a file of the release with its checksum.
type file struct {
	// name is relative to the release, with slashes.
	name, sum string
}

// filesBelow returns the files of a directory with their checksums, sorted by name.
func filesBelow(dir string) (files []file, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		sum, err := sumOf(path)
		files = append(files, file{name: filepath.ToSlash(name), sum: sum})
		return err
	})
	return files, err
}

// sumOf returns the SHA-256 of a file in hexadecimal.
func sumOf(path string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, in); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// writeSums writes the checksums of all files below a directory.
func writeSums(dir string) error {
	files, err := filesBelow(dir)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, f := range files {
		if f.name != sumsFile {
			fmt.Fprintf(&text, "%s  %s\n", f.sum, f.name)
		}
	}
	return os.WriteFile(filepath.Join(dir, sumsFile), text.Bytes(), 0o644)
}
