package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// key has the common fields of two events of one series. The note is part of the key: an API server refuses to change a note,
// so new events would appear with an old one.
type key struct {
	eventType, reason, action, note string
	regarding, related              corev1.ObjectReference
}

// series is an event that was written.
type series struct {
	name  types.NamespacedName
	count int32
	last  time.Time
}

func (r *Recorder) write(ctx context.Context, event *eventsv1.Event) {
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, r.opts.Retry, func(ctx context.Context) (bool, error) {
		last = r.attempt(ctx, event)
		return last == nil || !mayPass(last), nil
	})
	if err = errors.Join(last, err); err == nil || ctx.Err() != nil {
		return
	}
	values := []any{"namespace", event.Regarding.Namespace, "name", event.Regarding.Name, "reason", event.Reason, "note", event.Note}
	if namespaceEnds(last) {
		r.opts.Log.V(1).Info("An event was not written, because its namespace is being deleted", values...)
		return
	}
	r.opts.Log.Error(err, "An event was not written", values...)
}

// namespaceEnds reports whether the API server refuses an event because the namespace is being deleted, or was deleted. Each group of such a namespace has
// events, and no person must act on that.
func namespaceEnds(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.IsNotFound(err)
}

func (r *Recorder) attempt(ctx context.Context, event *eventsv1.Event) error {
	k := key{event.Type, event.Reason, event.Action, event.Note, event.Regarding, corev1.ObjectReference{}}
	if event.Related != nil {
		k.related = *event.Related
	}
	if s, ok := r.series[k]; ok && event.EventTime.Sub(s.last) < seriesEnds {
		s.count, s.last = s.count+1, event.EventTime.Time
		err := r.count(ctx, s)
		if err == nil {
			r.series[k] = s
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		// The event was deleted.
	}
	// The client writes the response into its argument.
	if err := r.opts.Client.Create(ctx, event.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	// If it exists already, an earlier attempt succeeded and its response was lost.
	if len(r.series) >= maxSeries {
		r.forgetOldest()
	}
	r.series[k] = series{client.ObjectKeyFromObject(event), 1, event.EventTime.Time}
	return nil
}

// forget drops the events that no event can repeat at now. They would take memory as long as the process runs. The map is a new one, because a map of Go
// does not shrink.
func (r *Recorder) forget(now time.Time) {
	kept := map[key]series{}
	for k, s := range r.series {
		if now.Sub(s.last) < seriesEnds {
			kept[k] = s
		}
	}
	r.series = kept
}

// forgetOldest drops the half of the series that did not happen for the longest time.
func (r *Recorder) forgetOldest() {
	times := slices.SortedFunc(maps.Values(r.series), func(a, b series) int { return a.last.Compare(b.last) })
	r.forget(times[len(times)/2].last.Add(seriesEnds))
}

// count stores how often the event happened. A repeated call has no effect.
func (r *Recorder) count(ctx context.Context, s series) error {
	patch, err := json.Marshal(struct {
		Series eventsv1.EventSeries `json:"series"`
	}{eventsv1.EventSeries{Count: s.count, LastObservedTime: metav1.NewMicroTime(s.last)}})
	if err != nil {
		return fmt.Errorf("marshal the series of an event: %w", err)
	}
	event := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: s.name.Namespace, Name: s.name.Name}}
	return r.opts.Client.Patch(ctx, event, client.RawPatch(types.MergePatchType, patch))
}

// mayPass reports whether the same request can succeed later: the API server did not respond, or could not decide.
func mayPass(err error) bool {
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonUnknown, metav1.StatusReasonServerTimeout, metav1.StatusReasonTimeout, metav1.StatusReasonTooManyRequests,
		metav1.StatusReasonServiceUnavailable, metav1.StatusReasonInternalError:
		return true
	default:
		return false
	}
}
