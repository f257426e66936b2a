package assets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/codeconnect/vmgroup-operator/test/harness/debian"
)

// MermaidVersion is the version of Mermaid's package of npm that renders the drawings.
const MermaidVersion = "12.3.0"

// mermaidSum is the SHA-512 of the package, as `npm view mermaid@<version> dist.integrity` prints it after "sha512-".
const mermaidSum = "4113TdXeLAsMruJ79OpFL5O8+LTFXhQqZ260rF3tgUmiNAtRm4Uume04I+65PRN6yZ69J4f8rVYWW8zRk65UYw=="

// mermaidScript is the file of the package that contains Mermaid with its dependencies.
const mermaidScript = "package/dist/mermaid.min.js"

// Mermaid returns the path of Mermaid's script for browsers. If the cache lacks it, Mermaid gets the package with npm, and runs nothing of it.
// If npm is missing, it installs Debian's package. out receives the progress. If it is nil, standard error does.
func Mermaid(ctx context.Context, out io.Writer) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "tools", "mermaid-"+hash(MermaidVersion, mermaidSum, mermaidScript))
	script := filepath.Join(dir, filepath.Base(mermaidScript))
	if isFile(script) {
		return script, nil
	}
	unlock, err := lock(ctx, filepath.Base(dir), out)
	if err != nil {
		return "", err
	}
	defer unlock()
	if isFile(script) {
		return script, nil
	}
	return script, installDir(dir, func(tmp string) error {
		say(out, "getting mermaid %s with npm", MermaidVersion)
		content, err := packed(ctx, out)
		if err != nil {
			return fmt.Errorf("get mermaid %s: %w", MermaidVersion, err)
		}
		text, err := member(content, mermaidSum, mermaidScript)
		if err != nil {
			return fmt.Errorf("unpack mermaid %s: %w", MermaidVersion, err)
		}
		return os.WriteFile(filepath.Join(tmp, filepath.Base(mermaidScript)), text, 0o644)
	})
}

// packed returns the archive that npm downloads.
func packed(ctx context.Context, out io.Writer) ([]byte, error) {
	if _, err := exec.LookPath("npm"); err != nil {
		if err := debian.Install(ctx, out, "npm"); err != nil {
			return nil, fmt.Errorf("npm is not installed: %w", err)
		}
	}
	dir, err := os.MkdirTemp("", "vmgroup-npm-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	npm := exec.CommandContext(ctx, "npm", "pack", "--ignore-scripts", "--no-update-notifier", "--silent", "mermaid@"+MermaidVersion)
	npm.Dir = dir
	if said, err := npm.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm pack: %w\n%s", err, said)
	}
	return os.ReadFile(filepath.Join(dir, "mermaid-"+MermaidVersion+".tgz"))
}

// member returns a file of a compressed archive with a known sum.
func member(archive []byte, sum, name string) ([]byte, error) {
	if got := sha512.Sum512(archive); base64.StdEncoding.EncodeToString(got[:]) != sum {
		return nil, errors.New("the archive does not have the pinned checksum")
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	for entries := tar.NewReader(unzipped); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("the archive has no %s", name)
		}
		if err != nil {
			return nil, err
		}
		if header.Name == name {
			return io.ReadAll(entries)
		}
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
