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

// Name of the ConfigMap in the release namespace that holds the ledger of all totals, or says that each total has its own.
const Name = "vmgroup-operator-quota"

// component is what the ConfigMaps of the ledgers have as their label.
const component = configmaps.Component("quota")

// The names of the totals' ledgers are not known ahead, so the right is not limited to names.

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;update;delete,namespace=system

// ErrConflict means that the ledger is not the one that was to be replaced any more. It has to be read again.
var ErrConflict = errors.New("the ledger of quotas was changed by another replica")

// Stored is a ledger as it is stored. The one with the key "" is that of all totals, or what stands in its place once each total has its own:
// then its State has no entries, and its Set is that of the ledgers that count. Those of another set are left over from before.
type Stored struct {
	State State
	// Format of the one with the key "": 0 when there is none, 1 when it has the entries of all totals, 2 when each total has its own ledger.
	Format int
	// Version to replace, or "" when there is no ledger.
	Version string
	// Seen orders what is read and watched; it is the version, also of a ledger that was deleted.
	Seen string
	// Next is the Set of the ledgers that this one is split into, if it has the entries of all totals.
	Next string
	// Err says why the ledger cannot be read although it is there.
	Err error
}

// Store holds the ledgers by the keys of their totals. Every method is one request, never repeated.
type Store interface {
	// Read returns a ledger afresh.
	Read(ctx context.Context, key string) (Stored, error)
	// List returns the ledgers of all totals afresh, those included that cannot be read.
	List(ctx context.Context) (map[string]Stored, error)
	// Write replaces the ledger of a version, "" to make the first. It fails with ErrConflict when that is not the one
	// that is stored, with ErrFull when there is no room; after any other error nobody knows whether it was written.
	Write(ctx context.Context, key string, s State, version string) (newVersion string, err error)
	// Mark replaces the ledger of all totals, of a version or none, by the word that each total has its own. It fails as Write does.
	Mark(ctx context.Context, version string) error
	// Delete removes the ledger of a total if it has a version.
	Delete(ctx context.Context, key, version string) error
	// Watch tells of every change until ctx ends.
	Watch(ctx context.Context, o Observer)
}

// Observer gets the ledgers that a watch tells of, by the keys of their totals. *Ledger implements it.
type Observer interface{ Observe(key string, s Stored) }

// ConfigMaps stores each ledger in a ConfigMap.
type ConfigMaps struct {
	// Client of the release namespace.
	Client corev1client.ConfigMapInterface

	mu sync.Mutex
	// last are the newest states that were read or written, so that only what has changed is decoded.
	last map[string]State
}

func nameOf(key string) string {
	if key == "" {
		return Name
	}
	return Name + "-" + key
}

// keyIn returns the key of a ConfigMap with a name.
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
		return Stored{}, nil
	}
	if err != nil {
		return Stored{}, fmt.Errorf("read ConfigMap %q: %w", nameOf(key), err)
	}
	return c.storedIn(key, object), nil
}

// List implements Store.
func (c *ConfigMaps) List(ctx context.Context) (map[string]Stored, error) {
	list, err := c.Client.List(ctx, metav1.ListOptions{LabelSelector: component.Selector()})
	if err != nil {
		return nil, fmt.Errorf("list the ConfigMaps %q: %w", Name+"-*", err)
	}
	all := map[string]Stored{}
	for i := range list.Items {
		if key, ok := keyIn(list.Items[i].Name); ok && key != "" {
			all[key] = c.storedIn(key, &list.Items[i])
		}
	}
	return all, nil
}

// Write implements Store.
func (c *ConfigMaps) Write(ctx context.Context, key string, s State, version string) (string, error) {
	encoded, err := encodeTotal(key, &s)
	if key == "" {
		encoded, err = encodeWhole(&s)
	}
	if err != nil {
		return "", err
	}
	written, err := c.put(ctx, key, encoded, version)
	if err == nil && key != "" {
		c.remember(key, s)
	}
	return written, err
}

// Mark implements Store.
func (c *ConfigMaps) Mark(ctx context.Context, version string) error {
	encoded, err := encodeMarker(version)
	if err == nil {
		_, err = c.put(ctx, "", encoded, version)
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

// watcher passes on what a watch of the ledgers tells.
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
		w.Observe(key, Stored{Seen: object.ResourceVersion})
	}
}

func (watcher) Synced() {}

func (c *ConfigMaps) storedIn(key string, object *corev1.ConfigMap) Stored {
	s := Stored{Version: object.ResourceVersion, Seen: object.ResourceVersion}
	in := content{data: object.Data, binary: object.BinaryData}
	var from string
	if key == "" {
		s.Format, from, s.State, s.Err = decodeWhole(in)
	} else {
		c.mu.Lock()
		last := c.last[key]
		c.mu.Unlock()
		if s.State, s.Err = decodeTotal(key, in, &last); s.Err == nil {
			c.remember(key, s.State)
		}
	}
	switch {
	case s.Err != nil:
		s.Err = fmt.Errorf("ConfigMap %q: %w; delete it, and it is made anew from what the groups were admitted", object.Name, s.Err)
	case s.Format == formatWhole:
		s.Next = setOf(string(object.UID), object.ResourceVersion)
	case s.Format == formatTotals:
		s.State.Set = setOf(string(object.UID), from)
	}
	return s
}

// setOf names the ledgers that were split off one version of a ConfigMap. One that is made anew has another UID.
func setOf(uid, version string) string { return uid + "." + version }

func (c *ConfigMaps) remember(key string, s State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = map[string]State{}
	}
	c.last[key] = s
}
