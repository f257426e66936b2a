package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
)

// ErrNoCertificate is the error of a handshake while no certificate to serve is known.
var ErrNoCertificate = errors.New("there is no serving certificate for the webhooks yet")

// DefaultPoll is the interval at which the files are read. Three small files cost nothing, and polling also detects
// changes that watches of links miss (a directory that is swapped and not deleted).
const DefaultPoll = time.Second

// Options of a [Keeper].
type Options struct {
	// Dir holds tls.crt, tls.key and, optionally, ca.crt.
	Dir string
	// Poll is the interval at which Dir is read.
	Poll time.Duration
	Now  func() time.Time
	Log  logr.Logger
}

// Keeper holds the certificate to serve. It is safe for concurrent use.
type Keeper struct {
	opts Options

	mu sync.RWMutex
	// read is the content of the files at the last read; offer is the last content that was consistent.
	read  contents
	offer trust.Offer
	// problem is the last one that was logged.
	problem string
	// known is true once the Secret with the leader's choice was read; chosen is nil if the leader never chose.
	known  bool
	chosen *trust.Leaf
}

// New returns a Keeper that has read the files once. Missing or damaged files are not an error: they can appear later.
func New(opts Options) *Keeper {
	k := &Keeper{opts: opts}
	k.look()
	return k
}

// Run reads the files until ctx ends, and calls changed when the results of Published or Offer possibly changed.
func (k *Keeper) Run(ctx context.Context, changed func()) error {
	ticker := time.NewTicker(k.opts.Poll)
	defer ticker.Stop()
	for {
		if k.look() {
			changed()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// SetState takes the data of the Secret that the leader writes; nil means that it does not exist. Before the first call,
// nothing is served. Later, the last chosen certificate stays until another one can be read: a deleted or damaged Secret
// is created anew, and until then the members trust the same as before. After a call, the result of Published can change.
func (k *Keeper) SetState(data map[string][]byte) {
	leaf, err := trust.ServedOf(data)
	if err == nil {
		leaf.FindSigners(trust.ParseAuthorities(data[trust.KeyAuthorities]))
	}
	k.mu.Lock()
	k.known = true
	if err == nil {
		k.chosen = leaf
	}
	k.mu.Unlock()
}

// Offer returns the last consistent content of the files. Its values must not be changed.
func (k *Keeper) Offer() trust.Offer {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.offer
}

// GetCertificate is for tls.Config. Established connections keep their certificate.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	leaf := k.serving()
	if leaf == nil {
		return nil, ErrNoCertificate
	}
	return leaf.TLS, nil
}

// serving returns the chosen leaf. It returns the leaf of the files if none was ever chosen, or if the chosen one has
// expired without a successor: no client accepts an expired leaf.
func (k *Keeper) serving() *trust.Leaf {
	k.mu.RLock()
	defer k.mu.RUnlock()
	switch now := k.opts.Now(); {
	case !k.known:
		return nil
	case k.chosen == nil:
		return k.offer.Leaf
	case !now.Before(k.chosen.NotAfter) && k.offer.Leaf != nil && now.Before(k.offer.Leaf.NotAfter):
		return k.offer.Leaf
	default:
		return k.chosen
	}
}

// Published returns the data that this replica publishes to the other replicas, as its entry [trust.PublishedKey].
func (k *Keeper) Published() string { return trust.ServingLeaf(k.serving()).String() }

// Check is for a readiness probe.
func (k *Keeper) Check(*http.Request) error {
	if k.serving() == nil {
		return ErrNoCertificate
	}
	return nil
}

// look reads the files and reports whether the offer changed.
func (k *Keeper) look() (changed bool) {
	read, err := readFiles(k.opts.Dir)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil && read.equal(k.read) {
		return false
	}
	var offer trust.Offer
	if err == nil {
		offer, err = read.offer()
	}
	if err != nil {
		k.complain(err)
		return false
	}
	k.read, k.offer, k.problem = read, offer, ""
	k.opts.Log.Info("Read a serving certificate", "fingerprint", trust.ServingLeaf(offer.Leaf).Leaf, "until", offer.Leaf.NotAfter)
	return true
}

// complain logs a problem once. The caller holds the lock.
func (k *Keeper) complain(err error) {
	if err.Error() != k.problem {
		k.problem = err.Error()
		k.opts.Log.Error(err, "The files of the serving certificate cannot be used, the last one that could stays", "directory", k.opts.Dir)
	}
}
