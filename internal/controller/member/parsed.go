package member

import (
	"crypto/sha256"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
	"github.com/codeconnect/vmgroup-operator/internal/kubeconfig"
)

// parsed has the last accepted kubeconfig of each identity of each member. Each pass needs it, and checking a private key costs more than the rest of a pass.
type parsed struct {
	mu sync.Mutex
	// of has them by member and identity.
	of map[[2]string]parsedConfig
}

type parsedConfig struct {
	// sum of the content. The version of a Secret does not identify it: a hub that was restored from a backup counts from an earlier version.
	sum    [sha256.Size]byte
	config *rest.Config
}

// parse returns the configuration in a kubeconfig, as kubeconfig.Parse does. The caller can change it, except for the bytes of its certificates.
func (p *parsed) parse(member, identity string, content []byte) (*rest.Config, error) {
	of, sum := [2]string{member, identity}, sha256.Sum256(content)
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.of[of]
	if !ok || last.sum != sum {
		config, err := kubeconfig.Parse(content)
		if err != nil {
			delete(p.of, of)
			return nil, err //nolint:wrapcheck // the caller names the Secret
		}
		if p.of == nil {
			p.of = map[[2]string]parsedConfig{}
		}
		last = parsedConfig{sum, config}
		p.of[of] = last
	}
	return rest.CopyConfig(last.config), nil
}

// forget drops a member.
func (p *parsed) forget(member string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, [2]string{member, credential.Member})
	delete(p.of, [2]string{member, credential.Bootstrap})
}
