// Package receiptstest keeps receipts in memory, for tests.
package receiptstest

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/codeconnect/vmgroup-operator/internal/receipts"
)

// New returns a store that behaves like the one of an API server. Several replicas can share it.
func New() *receipts.ConfigMaps { return &receipts.ConfigMaps{Client: &ConfigMaps{}} }

var resource = schema.GroupResource{Resource: "configmaps"}

// ConfigMaps is the client of a namespace whose ConfigMaps are in memory. Like an API server, it refuses to create an existing
// object, and to write one with another resourceVersion. The zero value is empty.
type ConfigMaps struct {
	corev1client.ConfigMapInterface
	// Before, if set, is called with the verb of each request before it is served. Its error is the answer.
	Before func(verb string) error

	mu      sync.Mutex
	objects map[string]*corev1.ConfigMap
	last    int
	watches []*watch.RaceFreeFakeWatcher
}

// IsWatchListSemanticsUnSupported makes informers list before they watch.
func (c *ConfigMaps) IsWatchListSemanticsUnSupported() bool { return true }

// Watch implements ConfigMapInterface, of all ConfigMaps.
func (c *ConfigMaps) Watch(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := watch.NewRaceFreeFake()
	seen, _ := strconv.Atoi(o.ResourceVersion)
	for _, object := range c.objects {
		if version, _ := strconv.Atoi(object.ResourceVersion); version > seen {
			w.Add(object.DeepCopy())
		}
	}
	c.watches = append(c.watches, w)
	return w, nil
}

func (c *ConfigMaps) before(verb string) error {
	if c.Before == nil {
		return nil
	}
	return c.Before(verb)
}

// store needs the lock.
func (c *ConfigMaps) store(object *corev1.ConfigMap) *corev1.ConfigMap {
	object = object.DeepCopy()
	c.last++
	object.ResourceVersion = strconv.Itoa(c.last)
	if object.UID == "" {
		object.UID = types.UID("uid-" + object.ResourceVersion)
	}
	if c.objects == nil {
		c.objects = map[string]*corev1.ConfigMap{}
	}
	_, known := c.objects[object.Name]
	c.objects[object.Name] = object
	for _, w := range c.watches {
		if known {
			w.Modify(object.DeepCopy())
		} else {
			w.Add(object.DeepCopy())
		}
	}
	return object.DeepCopy()
}

// Get implements ConfigMapInterface.
func (c *ConfigMaps) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.ConfigMap, error) {
	if err := c.before("get"); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	object, ok := c.objects[name]
	if !ok {
		return nil, apierrors.NewNotFound(resource, name)
	}
	return object.DeepCopy(), nil
}

// List implements ConfigMapInterface, in pages.
func (c *ConfigMaps) List(_ context.Context, o metav1.ListOptions) (*corev1.ConfigMapList, error) {
	if err := c.before("list"); err != nil {
		return nil, err
	}
	selector, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(c.last)}}
	for _, name := range slices.Sorted(maps.Keys(c.objects)) {
		if name <= o.Continue || !selector.Matches(labels.Set(c.objects[name].Labels)) {
			continue
		}
		if o.Limit > 0 && int64(len(list.Items)) == o.Limit {
			list.Continue = list.Items[len(list.Items)-1].Name
			break
		}
		list.Items = append(list.Items, *c.objects[name].DeepCopy())
	}
	return list, nil
}

// Create implements ConfigMapInterface.
func (c *ConfigMaps) Create(_ context.Context, object *corev1.ConfigMap, _ metav1.CreateOptions) (*corev1.ConfigMap, error) {
	if err := c.before("create"); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.objects[object.Name]; ok {
		return nil, apierrors.NewAlreadyExists(resource, object.Name)
	}
	return c.store(object), nil
}

// Update implements ConfigMapInterface.
func (c *ConfigMaps) Update(_ context.Context, object *corev1.ConfigMap, _ metav1.UpdateOptions) (*corev1.ConfigMap, error) {
	if err := c.before("update"); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.same(object.Name, &object.ResourceVersion); err != nil {
		return nil, err
	}
	return c.store(object), nil
}

// Delete implements ConfigMapInterface.
func (c *ConfigMaps) Delete(_ context.Context, name string, o metav1.DeleteOptions) error {
	if err := c.before("delete"); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var version *string
	if o.Preconditions != nil {
		version = o.Preconditions.ResourceVersion
	}
	if err := c.same(name, version); err != nil {
		return err
	}
	for _, w := range c.watches {
		w.Delete(c.objects[name].DeepCopy())
	}
	delete(c.objects, name)
	return nil
}

// same needs the lock.
func (c *ConfigMaps) same(name string, version *string) error {
	now, ok := c.objects[name]
	switch {
	case !ok:
		return apierrors.NewNotFound(resource, name)
	case version != nil && *version != "" && *version != now.ResourceVersion:
		return apierrors.NewConflict(resource, name, nil)
	default:
		return nil
	}
}
