//go:build unix

package localcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// registries is the directory in which containerd looks for how to reach a registry.
const registries = "registries"

// UseRegistry has the node pull from a registry, host:port, over plain http: one that a test serves at HostAddress has no certificate.
func (h *Hub) UseRegistry(address string) error {
	// containerd's own spelling, since not every file system takes a colon.
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
