package world

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// groupCache is one replica's cache of the member's groups. It is a cache.Cache with only the methods that the group controller uses.
type groupCache struct {
	cache.Cache
	feed *feed

	mu       sync.Mutex
	groups   map[types.NamespacedName]*v1alpha1.VmGroup
	handlers []*registration
}

func newGroupCache(f *feed) *groupCache {
	return &groupCache{feed: f, groups: map[types.NamespacedName]*v1alpha1.VmGroup{}}
}

// news sets the new state of a group.
func (c *groupCache) news(key types.NamespacedName, group *v1alpha1.VmGroup, exists bool) {
	c.feed.add(func() {
		c.mu.Lock()
		was, known := c.groups[key]
		if exists {
			c.groups[key] = group
		} else {
			delete(c.groups, key)
		}
		handlers := slices.Clone(c.handlers)
		c.mu.Unlock()
		for _, h := range handlers {
			switch {
			case exists && known:
				h.OnUpdate(was, group)
			case exists:
				h.OnAdd(group, false)
			case known:
				h.OnDelete(was)
			}
		}
	})
}

func (c *groupCache) get(key types.NamespacedName, into *v1alpha1.VmGroup) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	group, ok := c.groups[key]
	if !ok {
		return apierrors.NewNotFound(v1alpha1.Resource("vmgroups"), key.Name)
	}
	group.DeepCopyInto(into)
	return nil
}

func (c *groupCache) list() (all []v1alpha1.VmGroup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, group := range c.groups {
		all = append(all, *group.DeepCopy())
	}
	return all
}

// GetInformer implements cache.Cache. Only VmGroups change in a world.
func (c *groupCache) GetInformer(_ context.Context, object client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	if _, ok := object.(*v1alpha1.VmGroup); ok {
		return informer{cache: c}, nil
	}
	return informer{}, nil
}

// WaitForCacheSync implements cache.Cache.
func (c *groupCache) WaitForCacheSync(context.Context) bool { return true }

// informer reports groups, or nothing if it has no cache.
type informer struct {
	cache.Informer
	cache *groupCache
}

func (i informer) add(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	r := &registration{ResourceEventHandler: h}
	if i.cache == nil {
		return r, nil
	}
	i.cache.mu.Lock()
	defer i.cache.mu.Unlock()
	i.cache.handlers = append(i.cache.handlers, r)
	for _, group := range i.cache.groups {
		i.cache.feed.add(func() { h.OnAdd(group, true) })
	}
	return r, nil
}

// AddEventHandlerWithResyncPeriod implements cache.Informer.
func (i informer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, _ time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.add(h)
}

// AddEventHandlerWithOptions implements cache.Informer.
func (i informer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, _ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.add(h)
}

// RemoveEventHandler implements cache.Informer.
func (i informer) RemoveEventHandler(of toolscache.ResourceEventHandlerRegistration) error {
	if i.cache != nil {
		i.cache.mu.Lock()
		defer i.cache.mu.Unlock()
		i.cache.handlers = slices.DeleteFunc(i.cache.handlers, func(r *registration) bool { return r == of })
	}
	return nil
}

// registration is a handler that has received the initial objects.
type registration struct {
	toolscache.ResourceEventHandlerRegistration
	toolscache.ResourceEventHandler
}

// HasSynced implements toolscache.ResourceEventHandlerRegistration.
func (*registration) HasSynced() bool { return true }
