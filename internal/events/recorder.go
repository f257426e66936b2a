// Package events writes the Kubernetes Events of one cluster.
//
// client-go's recorder for events.k8s.io starts a goroutine for each event, so that two events of one pass arrive in any order. It
// identifies repeated events by the object's resourceVersion, so events of an object that changes never count as repeated. And it
// keeps the first note of a series, whatever the later notes. See ADR 0043.
package events

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/tools/reference"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Component is the reporting controller of every event.
const Component = "vmgroup-operator"

const (
	// maxWaiting is how many events wait for the API server before new ones are dropped.
	maxWaiting = 2000
	// maxSeries is how many events are remembered to detect repeated ones.
	maxSeries = 1000
	// seriesEnds is the pause after which an event starts a new series. API servers keep an event for an hour after its last change.
	seriesEnds = 10 * time.Minute
	// maxNote is the API server's limit (noteLengthLimit in its validation of events), in bytes.
	maxNote = 1024
)

// Recorder is client-go's EventRecorder for one cluster. It writes events one after the other, in the order of the calls. An event
// can repeat one of the last ten minutes: same type, reason, action, note and object. Then Recorder increments the series of that
// event and creates no new object. A Recorder writes only while [Recorder.Start] runs. It is safe for concurrent use.
type Recorder struct {
	opts    Options
	waiting chan *eventsv1.Event
	dropped atomic.Int64
	// series is used by Start's goroutine only.
	series map[key]series
}

var _ clientevents.EventRecorder = (*Recorder)(nil)

// Options of a [Recorder]. All are required.
type Options struct {
	// Client must have permission to create and patch events of events.k8s.io in all namespaces.
	Client client.Client
	// Instance is this replica's name.
	Instance string
	Now      func() time.Time
	Log      logr.Logger
	// Retry limits the retries if the API server cannot respond. Later events wait meanwhile.
	Retry wait.Backoff
}

// DefaultRetry drops an event after about a minute.
func DefaultRetry() wait.Backoff {
	return wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 8}
}

// New returns a Recorder that does not write yet.
func New(opts Options) *Recorder {
	return &Recorder{opts: opts, waiting: make(chan *eventsv1.Event, maxWaiting), series: map[key]series{}}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: each replica writes its own events.
func (*Recorder) NeedLeaderElection() bool { return false }

// Eventf implements EventRecorder. It does not block: if too many events wait, it drops the event and counts it in the log. regarding
// is an object with a name. related can be nil.
func (r *Recorder) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	event, err := r.event(regarding, related)
	if err != nil {
		r.opts.Log.Error(err, "An event is about an object that cannot be named", "reason", reason)
		return
	}
	event.Type, event.Reason, event.Action = eventType, reason, action
	event.Note = untrusted.Text(fmt.Sprintf(note, args...), maxNote)
	select {
	case r.waiting <- event:
	default:
		r.dropped.Add(1)
	}
}

func (r *Recorder) event(regarding, related runtime.Object) (*eventsv1.Event, error) {
	scheme, now := r.opts.Client.Scheme(), r.opts.Now()
	about, err := reference.GetReference(scheme, regarding)
	if err != nil {
		return nil, err
	}
	event := &eventsv1.Event{EventTime: metav1.NewMicroTime(now), ReportingController: Component, ReportingInstance: Component + "-" + r.opts.Instance}
	event.Regarding = *about
	// The resourceVersion differs after each write, and so would the keys of two equal events.
	event.Regarding.ResourceVersion = ""
	if related != nil {
		if event.Related, err = reference.GetReference(scheme, related); err != nil {
			return nil, err
		}
		event.Related.ResourceVersion = ""
	}
	event.Name, event.Namespace = util.GenerateEventName(about.Name, now.UnixNano()), about.Namespace
	if event.Namespace == "" {
		event.Namespace = metav1.NamespaceDefault
	}
	return event, nil
}

// Start implements manager.Runnable. It writes until ctx ends; it does not write events that wait then.
func (r *Recorder) Start(ctx context.Context) error {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			r.forget(r.opts.Now())
		case event := <-r.waiting:
			r.write(ctx, event)
			if n := r.dropped.Swap(0); n > 0 {
				r.opts.Log.Error(nil, "Events were dropped: the API server takes them too slowly", "dropped", n)
			}
		}
	}
}
