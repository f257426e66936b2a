package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/client-go/rest"
)

// Role is what the cluster of a context is for the operator.
type Role struct {
	// UID of the namespace kube-system identifies the cluster.
	UID string `json:"uid"`
	// Hub is true if the operator runs there. Installation is the UID of the hub's cluster that serves this one as a member, or empty.
	Hub          bool   `json:"hub,omitempty"`
	Installation string `json:"installation,omitempty"`
}

// Memory remembers the roles of contexts between commands, in a file without secrets. An entry counts while the context has the same server and
// certificate authority. A file that cannot be read or written is like an empty one.
type Memory struct {
	path string

	mu      sync.Mutex
	entries map[string]remembered
}

type remembered struct {
	Role
	// Endpoint is the hash of the server and its certificate authority.
	Endpoint string `json:"endpoint"`
}

// NewMemory returns the memory in a directory for caches. The file is read when it is first needed.
func NewMemory(dir string) *Memory {
	return &Memory{path: filepath.Join(dir, "vmgroup", "contexts.json")}
}

func (m *Memory) load() {
	if m.entries != nil {
		return
	}
	if content, err := os.ReadFile(m.path); err == nil {
		_ = json.Unmarshal(content, &m.entries)
	}
	if m.entries == nil {
		m.entries = map[string]remembered{}
	}
}

// Role returns the role of a context. ok is false if it is not known.
func (m *Memory) Role(context string, config *rest.Config) (r Role, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.load()
	e, ok := m.entries[context]
	if !ok || e.Endpoint != endpointOf(config) {
		return Role{}, false
	}
	return e.Role, true
}

// Remember stores the role of a context.
func (m *Memory) Remember(context string, config *rest.Config, r Role) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.load()
	e := remembered{r, endpointOf(config)}
	if m.entries[context] == e {
		return
	}
	m.entries[context] = e
	_ = m.write() // the next command asks again
}

// write replaces the file, so that another command never reads a part.
func (m *Memory) write() (err error) {
	content, err := json.Marshal(m.entries)
	if err != nil {
		return err
	}
	dir := filepath.Dir(m.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, "contexts-") // only the user can read it
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	if _, err = file.Write(content); err != nil {
		_ = file.Close()
		return err
	}
	if err = file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), m.path)
}

func endpointOf(config *rest.Config) string {
	ca := config.CAData
	if len(ca) == 0 && config.CAFile != "" {
		ca, _ = os.ReadFile(config.CAFile)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %t", config.Host, config.ServerName, ca, config.Insecure))
	return hex.EncodeToString(sum[:])
}
