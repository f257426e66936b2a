package death

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
)

// Selector of the Pods that run replicas.
const Selector = "app.kubernetes.io/name=vmgroup-operator"

// Replicas are the sessions whose processes are watched. *sharding.Replica implements it.
type Replicas interface {
	// Peers returns the sessions that are not known to have ended.
	Peers() []protocol.Peer
	// DeathProven reports to the replica that the process of a session has ended, and returns whether the replica
	// accepts that.
	DeathProven(session string) (believed bool)
}

// Options of a [Watcher]. All fields are required.
type Options struct {
	// Pods of the namespace that the replicas run in.
	Pods     corev1client.PodInterface
	Replicas Replicas
	Log      logr.Logger
}

// Watcher reports sessions whose process has ended according to the status of a Pod. It has its own cache, so that a
// replica without permission to read Pods works too.
type Watcher struct {
	opts Options
	// changed holds one wake-up.
	changed chan struct{}
	// failing is true from a failure of the list or watch to the next event.
	mu      sync.Mutex
	failing bool
	// found is the last result for each session.
	found map[string]string
}

// NewWatcher returns a Watcher that does nothing before Start.
func NewWatcher(opts Options) *Watcher {
	return &Watcher{opts: opts, changed: make(chan struct{}, 1), found: map[string]string{}}
}

// Changed reports that the result of Peers possibly changed. It does not block.
func (w *Watcher) Changed() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// NeedLeaderElection makes a manager run it on every replica.
func (w *Watcher) NeedLeaderElection() bool { return false }

// Start watches until ctx ends. It retries failures forever, with growing delays.
func (w *Watcher) Start(ctx context.Context) error {
	informer, err := w.informer()
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { informer.RunWithContext(ctx) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.changed:
		}
		peers := w.peers()
		w.forget(peers)
		for _, object := range informer.GetStore().List() {
			w.inspect(object, peers)
		}
	}
}

func (w *Watcher) informer() (cache.SharedIndexInformer, error) {
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = Selector
			return w.opts.Pods.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = Selector
			return w.opts.Pods.Watch(ctx, options)
		},
	}, &corev1.Pod{}, 0, nil)
	event := func(object any) {
		w.works()
		w.inspect(object, w.peers())
	}
	if err := informer.SetTransform(strip); err != nil {
		return nil, err
	}
	if err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { w.fails(err) }); err != nil {
		return nil, err
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: event, UpdateFunc: func(_, object any) { event(object) },
		// The last status of a Pod counts like any other; the deletion of the Pod does not count.
		DeleteFunc: event,
	})
	return informer, err
}

// strip keeps only the used parts of a Pod.
func strip(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion},
		Status:     corev1.PodStatus{ContainerStatuses: pod.Status.ContainerStatuses},
	}, nil
}

// session is a session of another replica that has possibly ended.
type session struct {
	name, host string
	Process
}

// peers returns the sessions that publish their place, without those of this process.
func (w *Watcher) peers() []session {
	peers := w.opts.Replicas.Peers()
	own := ""
	for _, peer := range peers {
		if peer.Self {
			own = peer.Boot
		}
	}
	sessions := make([]session, 0, len(peers))
	for _, peer := range peers {
		if place, ok := ParsePlace(peer.Published[PublishedKey]); ok && peer.Boot != own {
			sessions = append(sessions, session{peer.Session, peer.Host, Process{place, peer.Boot}})
		}
	}
	return sessions
}

// inspect reports the sessions whose process has ended according to the status of a Pod.
func (w *Watcher) inspect(object any, peers []session) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	for _, s := range peers {
		if s.Pod != pod.UID {
			continue
		}
		proven, why := Proves(pod, s.Process)
		log := w.opts.Log.WithValues("session", s.name, "replica", s.host, "pod", pod.Name)
		switch {
		case !w.news(s.name, why):
		case !proven:
			log.V(1).Info("The status of a replica's Pod does not prove that its process has ended", "why", why)
		case w.opts.Replicas.DeathProven(s.name):
			log.Info("The process of another replica has ended: its groups are taken over as soon as its session has been silent for a moment", "why", why)
		}
	}
}

// news reports whether the result for a session differs from the last one.
func (w *Watcher) news(session, why string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.found[session] == why {
		return false
	}
	w.found[session] = why
	return true
}

// forget drops the results of sessions that do not exist any more.
func (w *Watcher) forget(peers []session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := map[string]string{}
	for _, s := range peers {
		if why, ok := w.found[s.name]; ok {
			known[s.name] = why
		}
	}
	w.found = known
}

// fails logs once that Pods cannot be watched. An ended or expired watch is normal.
func (w *Watcher) fails(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failing {
		w.opts.Log.V(1).Info("The replicas' Pods still cannot be watched", "error", err.Error())
		return
	}
	w.failing = true
	w.opts.Log.Error(err, "The replicas' Pods cannot be watched: until they can, the groups of a replica that dies are taken over when its Lease has run out, "+
		"not earlier")
}

func (w *Watcher) works() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failing = false
}
