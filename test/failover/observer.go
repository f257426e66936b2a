package failover

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

// The documented names of the product's objects. The observer defines them separately: it must not share a mistake.
const (
	// RingName is the name of the shard map's ConfigMap.
	RingName = "vmgroup-operator-ring"
	// LeasePrefix begins the names of the sessions' Leases.
	LeasePrefix = "vmgroup-operator-replica-"

	annotations = "sharding.vmgroup-operator.vm.codeconnect.vmworld.com/"
)

// Observer watches the shard map and the sessions on a hub, over a separate connection.
type Observer struct {
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex
	seen Timeline
	// version is the last seen version of the shard map: a new list must not repeat it.
	version string
}

// Observe starts an observer; Close ends it. It survives restarts of the hub, and then sees the state afterwards.
func Observe(config *rest.Config, namespace string) (*Observer, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := &Observer{cancel: cancel, seen: Timeline{Sessions: map[string]Session{}}}
	rings, leases := clients.CoreV1().ConfigMaps(namespace), clients.CoordinationV1().Leases(namespace)
	named := fields.OneTermEqualSelector("metadata.name", RingName).String()
	o.running.Go(func() {
		follow(ctx, func(ctx context.Context) (string, error) {
			list, err := rings.List(ctx, metav1.ListOptions{FieldSelector: named})
			if err != nil {
				return "", err
			}
			if len(list.Items) == 0 {
				o.noRing(time.Now())
			}
			for i := range list.Items {
				o.ring(time.Now(), &list.Items[i])
			}
			return list.ResourceVersion, nil
		}, func(ctx context.Context, version string) (watch.Interface, error) {
			return rings.Watch(ctx, metav1.ListOptions{FieldSelector: named, ResourceVersion: version})
		}, o.event)
	})
	o.running.Go(func() {
		follow(ctx, func(ctx context.Context) (string, error) {
			list, err := leases.List(ctx, metav1.ListOptions{})
			if err != nil {
				return "", err
			}
			o.leases(time.Now(), list.Items)
			return list.ResourceVersion, nil
		}, func(ctx context.Context, version string) (watch.Interface, error) {
			return leases.Watch(ctx, metav1.ListOptions{ResourceVersion: version})
		}, o.event)
	})
	return o, nil
}

// follow lists and watches until ctx ends, and restarts whenever a watch ends.
func follow(ctx context.Context, list func(context.Context) (string, error),
	open func(context.Context, string) (watch.Interface, error), sink func(time.Time, watch.EventType, runtime.Object),
) {
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	for ctx.Err() == nil {
		if version, err := list(ctx); err == nil {
			if events, err := open(ctx, version); err == nil {
				for e := range events.ResultChan() {
					sink(time.Now(), e.Type, e.Object)
				}
				events.Stop()
			}
		}
		select {
		case <-ctx.Done():
		case <-retry.C:
		}
	}
}

// Close ends the observer.
func (o *Observer) Close() {
	o.cancel()
	o.running.Wait()
}

// Timeline returns all observations so far.
func (o *Observer) Timeline() Timeline {
	o.mu.Lock()
	defer o.mu.Unlock()
	return Timeline{Rings: slices.Clone(o.seen.Rings), Sessions: maps.Clone(o.seen.Sessions)}
}

func (o *Observer) event(now time.Time, kind watch.EventType, object runtime.Object) {
	gone := kind == watch.Deleted
	switch object := object.(type) {
	case *corev1.ConfigMap:
		if gone {
			o.noRing(now)
		} else {
			o.ring(now, object)
		}
	case *coordinationv1.Lease:
		o.lease(now, object, gone)
	}
}

func (o *Observer) noRing(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.version = ""
	if n := len(o.seen.Rings); n == 0 || o.seen.Rings[n-1].Ring != nil {
		o.seen.Rings = append(o.seen.Rings, RingSeen{At: now})
	}
}

func (o *Observer) ring(now time.Time, object *corev1.ConfigMap) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if object.ResourceVersion == o.version {
		return
	}
	o.version = object.ResourceVersion
	seen := RingSeen{At: now}
	if r, err := ring.Decode(object.Data); err == nil {
		seen.Ring = &r
	}
	o.seen.Rings = append(o.seen.Rings, seen)
}

func (o *Observer) leases(now time.Time, all []coordinationv1.Lease) {
	present := map[string]bool{}
	for i := range all {
		o.lease(now, &all[i], false)
		present[strings.TrimPrefix(all[i].Name, LeasePrefix)] = true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, s := range o.seen.Sessions {
		if !present[name] {
			o.note(now, name, s, Gone)
		}
	}
}

func (o *Observer) lease(now time.Time, object *coordinationv1.Lease, gone bool) {
	name, ours := strings.CutPrefix(object.Name, LeasePrefix)
	if !ours {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.seen.Sessions[name]
	s.Name = name
	if boot := object.Annotations[annotations+"boot"]; boot != "" {
		s.Boot, s.Host = boot, object.Annotations[annotations+"host"]
	}
	state := object.Annotations[annotations+"state"]
	if gone {
		state = Gone
	}
	if object.ResourceVersion != s.Version {
		s.Version, s.Changed = object.ResourceVersion, now
	}
	o.note(now, name, s, state)
}

func (o *Observer) note(now time.Time, name string, s Session, state string) {
	if s.State != state || s.Since.IsZero() {
		s.State, s.Since = state, now
	}
	o.seen.Sessions[name] = s
}
