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

// ErrNoCertificate is what a handshake fails with while it is not known what to serve.
var ErrNoCertificate = errors.New("there is no serving certificate for the webhooks yet")

// DefaultPoll is how often the files are looked at. Three small files cost nothing, and what watches of links miss (a
// directory that is swapped and not deleted), a look does not.
const DefaultPoll = time.Second

// Options of a [Keeper].
type Options struct {
	// Dir holds tls.crt, tls.key and, if it is there, ca.crt.
	Dir string
	// Poll is how often Dir is looked at.
	Poll time.Duration
	Now  func() time.Time
	Log  logr.Logger
}

// Keeper knows the certificate to serve. It is safe for concurrent use.
type Keeper struct {
	opts Options

	mu sync.RWMutex
	// read is what the files held when they were last read; offer is the last of them that fitted together.
	read  contents
	offer trust.Offer
	// problem was logged last.
	problem string
	// known says that it was looked for what the leader chose; chosen is nil when it never chose.
	known  bool
	chosen *trust.Leaf
}

// New returns a Keeper that has looked at the files once. That they are missing or damaged is not an error: they may come.
func New(opts Options) *Keeper {
	k := &Keeper{opts: opts}
	k.look()
	return k
}

// Run looks at the files until ctx ends, and calls changed when Published or Offer may return something else.
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

// SetState takes the data of the Secret that the leader writes; nil says that there is none. Nothing is served before the
// first call, and what was chosen once stays until another one can be read: a Secret that is deleted or damaged is made
// anew, and until then the members trust what they trusted. Published may return something else afterwards.
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

// Offer returns what the files held when they last fitted together. Its values must not be changed.
func (k *Keeper) Offer() trust.Offer {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.offer
}

// GetCertificate is for tls.Config. Connections that are established keep what they began with.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	leaf := k.serving()
	if leaf == nil {
		return nil, ErrNoCertificate
	}
	return leaf.TLS, nil
}

// serving returns the chosen leaf; that of the files when none was ever chosen, or when the chosen one has expired and
// nobody chose another: then no client accepts it any more.
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

// Published is what the other replicas have to know of this one, as its entry [trust.PublishedKey].
func (k *Keeper) Published() string { return trust.ServingLeaf(k.serving()).String() }

// Check is for a readiness probe.
func (k *Keeper) Check(*http.Request) error {
	if k.serving() == nil {
		return ErrNoCertificate
	}
	return nil
}

// look reads the files and reports whether something else can be offered now.
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
