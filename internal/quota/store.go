package quota

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/codeconnect/vmgroup-operator/internal/configmaps"
)

// Name of the head: the ConfigMap in the release namespace whose UID names the ledgers that count.
const Name = "vmgroup-operator-quota"

// component is the component label of the ledgers' ConfigMaps.
const component = configmaps.Component("quota")

// The names of the totals' ledgers are not known ahead, so the right is not limited to names.

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;update;delete,namespace=system

// ErrConflict means that the ledger is no longer at the version to replace. It must be read again.
var ErrConflict = errors.New("the ledger of quotas was changed by another replica")

// Stored is a stored ledger. The one with the key "" is the head: its State has no entries, and its Set is that of the ledgers that count. Those of
// another set remain from a head that was deleted.
type Stored struct {
	State State
	// Version to replace, or "" if there is no ledger.
	Version string
	// Seen orders reads and watch events. It is the version, also of a deleted ledger.
	Seen string
	// Err explains why an existing ledger cannot be decoded.
	Err error
}

// Store holds the ledgers by the keys of their totals. Every method is one request, never repeated.
type Store interface {
	// Read reads a ledger afresh.
	Read(ctx context.Context, key string) (Stored, error)
	// Write replaces a version of a total's ledger; version "" creates the ledger. It fails with ErrConflict if another version is stored, and with
	// ErrFull if there is no room. After any other error, the result of the write is unknown.
	Write(ctx context.Context, key string, s State, version string) (newVersion string, err error)
	// MakeHead creates the head. It fails as Write does, with ErrConflict if there is one.
	MakeHead(ctx context.Context) error
	// Delete removes the ledger of a total if it has this version.
	Delete(ctx context.Context, key, version string) error
	// Watch reports every change to o until ctx ends.
	Watch(ctx context.Context, o Observer)
}

// Observer receives the ledgers of watch events, by the keys of their totals. *Ledger implements it.
type Observer interface{ Observe(key string, s Stored) }

// ConfigMaps stores each ledger in a ConfigMap.
type ConfigMaps struct {
	// Client of the release namespace.
	Client corev1client.ConfigMapInterface

	mu sync.Mutex
	// last are the newest states that were read or written, so that only changes are decoded.
	last map[string]State
}

func nameOf(key string) string {
	if key == "" {
		return Name
	}
	return Name + "-" + key
}

// keyIn returns the key of the ConfigMap with a name.
func keyIn(name string) (key string, ok bool) {
	if name == Name {
		return "", true
	}
	key, ok = strings.CutPrefix(name, Name+"-")
	return key, ok && key != ""
}

// Read implements Store.
func (c *ConfigMaps) Read(ctx context.Context, key string) (Stored, error) {
	object, err := c.Client.Get(ctx, nameOf(key), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		c.forget(key)
		return Stored{}, nil
	}
	if err != nil {
		return Stored{}, fmt.Errorf("read ConfigMap %q: %w", nameOf(key), err)
	}
	return c.storedIn(key, object), nil
}

// Write implements Store.
func (c *ConfigMaps) Write(ctx context.Context, key string, s State, version string) (string, error) {
	encoded, err := encodeTotal(key, &s)
	if err != nil {
		return "", err
	}
	written, err := c.put(ctx, key, encoded, version)
	if err == nil {
		c.remember(key, s)
	}
	return written, err
}

// MakeHead implements Store.
func (c *ConfigMaps) MakeHead(ctx context.Context) error {
	encoded, err := encodeHead()
	if err == nil {
		_, err = c.put(ctx, "", encoded, "")
	}
	return err
}

func (c *ConfigMaps) put(ctx context.Context, key string, encoded content, version string) (string, error) {
	object := component.New(nameOf(key))
	object.ResourceVersion, object.Data, object.BinaryData = version, encoded.data, encoded.binary
	written, err := configmaps.Put(ctx, c.Client, object)
	switch {
	case err == nil:
		return written.ResourceVersion, nil
	case errors.Is(err, configmaps.ErrConflict):
		return "", ErrConflict
	case apierrors.IsRequestEntityTooLargeError(err):
		return "", ErrFull
	default:
		return "", fmt.Errorf("write ConfigMap %q: %w", nameOf(key), err)
	}
}

// Delete implements Store.
func (c *ConfigMaps) Delete(ctx context.Context, key, version string) error {
	err := configmaps.Delete(ctx, c.Client, nameOf(key), metav1.Preconditions{ResourceVersion: &version})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, configmaps.ErrConflict):
		return ErrConflict
	default:
		return fmt.Errorf("delete ConfigMap %q: %w", nameOf(key), err)
	}
}

// Watch implements Store.
func (c *ConfigMaps) Watch(ctx context.Context, o Observer) {
	component.Watch(ctx, c.Client, watcher{c, o})
}

// watcher passes on the watch events of the ledgers.
type watcher struct {
	c *ConfigMaps
	Observer
}

func (w watcher) Seen(object *corev1.ConfigMap) {
	if key, ok := keyIn(object.Name); ok {
		w.Observe(key, w.c.storedIn(key, object))
	}
}

func (w watcher) Gone(object *corev1.ConfigMap) {
	if key, ok := keyIn(object.Name); ok {
		w.c.forget(key)
		w.Observe(key, Stored{Seen: object.ResourceVersion})
	}
}

func (watcher) Synced() {}

func (c *ConfigMaps) storedIn(key string, object *corev1.ConfigMap) Stored {
	s := Stored{Version: object.ResourceVersion, Seen: object.ResourceVersion}
	in := content{data: object.Data, binary: object.BinaryData}
	if key == "" {
		s.State.Set, s.Err = string(object.UID), decodeHead(in)
	} else {
		c.mu.Lock()
		last := c.last[key]
		c.mu.Unlock()
		if s.State, s.Err = decodeTotal(key, in, &last); s.Err == nil {
			c.remember(key, s.State)
		}
	}
	if s.Err != nil {
		s.Err = fmt.Errorf("ConfigMap %q: %w; delete it, and it is made anew from what the groups were admitted", object.Name, s.Err)
	}
	return s
}

// forget drops the state of a ledger that does not exist.
func (c *ConfigMaps) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.last, key)
}

func (c *ConfigMaps) remember(key string, s State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = map[string]State{}
	}
	c.last[key] = s
}
