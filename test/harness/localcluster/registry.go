//go:build unix

package localcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// registries is the directory of containerd's registry configurations.
const registries = "registries"

// UseRegistry makes the node pull from a registry, host:port, over plain HTTP, because a test's registry at HostAddress has no certificate.
func (h *Hub) UseRegistry(address string) error {
	// This is containerd's spelling, because some file systems allow no colon.
	directory := filepath.Join(h.node.file(registries), strings.Replace(address, ":", "_", 1)+"_")
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return fmt.Errorf("have the node use the registry %s: %w", address, err)
	}
	hosts := fmt.Sprintf("server = %q\n[host.%q]\ncapabilities = [\"pull\", \"resolve\"]\n", "http://"+address, "http://"+address)
	if err := os.WriteFile(filepath.Join(directory, "hosts.toml"), []byte(hosts), 0o600); err != nil {
		return fmt.Errorf("have the node use the registry %s: %w", address, err)
	}
	return nil
}
