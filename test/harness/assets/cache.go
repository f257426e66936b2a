package assets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// CacheDir is the directory of built and downloaded programs: $VMGROUP_CACHE, or vmgroup-operator below the user's cache directory. It can
// be deleted at any time. Missing programs are built or downloaded again.
func CacheDir() (string, error) {
	if dir := os.Getenv("VMGROUP_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a cache directory for tools, set VMGROUP_CACHE to choose one: %w", err)
	}
	return filepath.Join(dir, "vmgroup-operator"), nil
}

// hash returns a short name for a list of inputs. A separator distinguishes ("ab","c") from ("a","bc").
func hash(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d:", len(part))
		_, _ = io.WriteString(h, part)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// isProgram reports whether path is an executable file, or a link to one.
func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// installDir creates dir with the content that fill writes, or nothing. fill gets a new directory beside dir, which is renamed when
// complete. The caller holds a lock and has checked that dir is missing or incomplete. An incomplete dir is replaced.
func installDir(dir string, fill func(tmp string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("make the cache directory: %w", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".new-*")
	if err != nil {
		return fmt.Errorf("make a temporary directory in the cache: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := os.Chmod(tmp, 0o755); err != nil { // MkdirTemp creates it for the owner only
		return fmt.Errorf("make a temporary directory in the cache: %w", err)
	}
	if err := fill(tmp); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("replace an incomplete directory in the cache: %w", err)
	}
	return os.Rename(tmp, dir)
}
