package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// apiServer keeps events and records requests, in order.
type apiServer struct {
	client.Client
	mu sync.Mutex
	// asked is "create NOTE" or "count NAME".
	asked []string
	// answer, if set, is called before a request is carried out.
	answer func(note string) error
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{}
	funcs := interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return s.take("create", o.(*eventsv1.Event).Note, func() error { return c.Create(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return s.take("count", "", func() error { return c.Patch(ctx, o, p, opts...) })
		},
	}
	s.Client = fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithInterceptorFuncs(funcs).Build()
	return s
}

func (s *apiServer) take(verb, note string, do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, strings.TrimSpace(verb+" "+note))
	if s.answer != nil {
		if err := s.answer(note); err != nil {
			return err
		}
	}
	return do()
}

func (s *apiServer) events(t *testing.T) []eventsv1.Event {
	t.Helper()
	list := &eventsv1.EventList{}
	if err := s.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// clock advances by a second at each reading.
type clock struct{ now time.Time }

func (c *clock) read() time.Time {
	c.now = c.now.Add(time.Second)
	return c.now
}

func recorderTo(s *apiServer) (*Recorder, *clock) {
	c := &clock{time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)}
	return New(Options{
		Client: s, Instance: "replica-0", Now: c.read, Log: logr.Discard(), Retry: wait.Backoff{Duration: time.Millisecond, Steps: 5},
	}), c
}

// tell reports about the object at this version.
func tell(r *Recorder, version int, note string) {
	about := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "web", UID: "one", ResourceVersion: fmt.Sprint(version),
	}}
	r.Eventf(about, nil, corev1.EventTypeNormal, "VMsCreated", "Clone", "%s", note)
}

// written writes the waiting events.
func written(t *testing.T, r *Recorder) {
	t.Helper()
	for len(r.waiting) > 0 {
		r.write(t.Context(), <-r.waiting)
	}
}

func TestEventsArriveInTheOrderInWhichTheyWereTold(t *testing.T) {
	s := newAPIServer(t)
	last := make(chan struct{})
	s.answer = func(note string) error {
		if note == "note 299" {
			close(last)
		}
		return nil
	}
	r, _ := recorderTo(s)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Start(ctx) }()
	want := make([]string, 0, 300)
	for i := range 300 {
		want = append(want, fmt.Sprintf("create note %d", i))
		tell(r, i, fmt.Sprintf("note %d", i))
	}
	<-last
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.asked, want) {
		t.Errorf("the API server was asked %d times, or in another order: %.200q", len(s.asked), s.asked)
	}
}

func TestWhatHappensAgainAndAgainIsCountedInOneEvent(t *testing.T) {
	s := newAPIServer(t)
	r, c := recorderTo(s)
	for i := range 10 {
		tell(r, 2*i, "created web-0")
		tell(r, 2*i+1, "lost web-0")
	}
	written(t, r)
	got := s.events(t)
	if len(got) != 2 {
		t.Fatalf("two things that happened ten times made %d events", len(got))
	}
	for _, e := range got {
		if e.Series == nil || e.Series.Count != 10 || c.now.Sub(e.Series.LastObservedTime.Time) > time.Second {
			t.Errorf("event %q has series %v, not a count of ten until now", e.Note, e.Series)
		}
		if e.Regarding.ResourceVersion != "" || e.Regarding.Kind != "ConfigMap" || e.Namespace != "team" ||
			e.ReportingController != Component || e.ReportingInstance != Component+"-replica-0" {
			t.Errorf("event is %+v", e)
		}
	}
}

func TestASeriesEndsAfterAPause(t *testing.T) {
	s := newAPIServer(t)
	r, c := recorderTo(s)
	tell(r, 1, "created web-0")
	c.now = c.now.Add(seriesEnds - 2*time.Second)
	tell(r, 2, "created web-0")
	c.now = c.now.Add(seriesEnds)
	tell(r, 3, "created web-0")
	written(t, r)
	if want := []string{"create created web-0", "count", "create created web-0"}; !slices.Equal(s.asked, want) {
		t.Errorf("asked %q, want %q", s.asked, want)
	}
}

func TestAnEventThatSomebodyDeletedIsCreatedAnew(t *testing.T) {
	s := newAPIServer(t)
	r, _ := recorderTo(s)
	tell(r, 1, "created web-0")
	written(t, r)
	if err := s.DeleteAllOf(t.Context(), &eventsv1.Event{}, client.InNamespace("team")); err != nil {
		t.Fatal(err)
	}
	tell(r, 2, "created web-0")
	tell(r, 3, "created web-0")
	written(t, r)
	if got := s.events(t); len(got) != 1 || got[0].Series == nil || got[0].Series.Count != 2 {
		t.Errorf("events are %v, want one that counts two", got)
	}
}

func TestAnAPIServerThatDoesNotAnswerIsAskedAgainBeforeTheNextEvent(t *testing.T) {
	for name, fails := range map[string]error{
		"connection": errors.New("connection refused"),
		"overload":   apierrors.NewTooManyRequests("later", 1),
		"internal":   apierrors.NewInternalError(errors.New("etcd")),
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			left := 3
			s.answer = func(string) error {
				if left--; left >= 0 {
					return fails
				}
				return nil
			}
			r, _ := recorderTo(s)
			tell(r, 1, "first")
			tell(r, 2, "second")
			written(t, r)
			if want := []string{"create first", "create first", "create first", "create first", "create second"}; !slices.Equal(s.asked, want) {
				t.Errorf("asked %q, want %q", s.asked, want)
			}
		})
	}
}

func TestAnEventThatIsRefusedHoldsUpNoOther(t *testing.T) {
	s := newAPIServer(t)
	s.answer = func(note string) error {
		if note == "first" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "web", errors.New("the namespace is being terminated"))
		}
		return nil
	}
	r, _ := recorderTo(s)
	tell(r, 1, "first")
	tell(r, 2, "second")
	tell(r, 3, "first") // an event that was not written begins no series
	written(t, r)
	if want := []string{"create first", "create second", "create first"}; !slices.Equal(s.asked, want) {
		t.Errorf("asked %q, want %q", s.asked, want)
	}
}

// TestEventsOfANamespaceThatIsDeletedAreNoErrors: such lines were 98 % of all errors in a soak, and needed no action.
func TestEventsOfANamespaceThatIsDeletedAreNoErrors(t *testing.T) {
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "web", errors.New("the namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = append(terminating.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	for name, c := range map[string]struct {
		answer error
		errors int
	}{
		"terminating": {terminating, 0},
		"deleted":     {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "team"), 0},
		"forbidden":   {apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "web", errors.New("no rule allows it")), 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.answer = func(string) error { return c.answer }
			r, _ := recorderTo(s)
			lines := 0
			r.opts.Log = funcr.New(func(_, line string) {
				if strings.Contains(line, `"error"=`) {
					lines++
				}
			}, funcr.Options{})
			tell(r, 1, "first")
			written(t, r)
			if lines != c.errors || len(s.asked) != 1 {
				t.Errorf("%d lines of level error, want %d; asked %q", lines, c.errors, s.asked)
			}
		})
	}
}

func TestALostAnswerMakesNoSecondEvent(t *testing.T) {
	s := newAPIServer(t)
	r, _ := recorderTo(s)
	tell(r, 1, "created web-0")
	event := <-r.waiting
	if err := s.Create(t.Context(), event.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	r.write(t.Context(), event)
	tell(r, 2, "created web-0")
	written(t, r)
	if got := s.events(t); len(got) != 1 || got[0].Series == nil || got[0].Series.Count != 2 {
		t.Errorf("events are %v, want one that counts two", got)
	}
}

func TestATellerIsNeverHeldUp(t *testing.T) {
	s := newAPIServer(t)
	r, _ := recorderTo(s)
	for i := range maxWaiting + 7 { // no writer runs
		tell(r, i, fmt.Sprint(i))
	}
	if len(r.waiting) != maxWaiting || r.dropped.Load() != 7 {
		t.Errorf("%d events wait and %d were dropped", len(r.waiting), r.dropped.Load())
	}
}

func TestALongNoteIsCutBetweenCharacters(t *testing.T) {
	s := newAPIServer(t)
	r, _ := recorderTo(s)
	tell(r, 1, "x"+strings.Repeat("ü", maxNote))
	written(t, r)
	if note := s.events(t)[0].Note; len(note) > maxNote || len(note) < maxNote-4 || !utf8.ValidString(note) {
		t.Errorf("the note has %d bytes; valid: %t", len(note), utf8.ValidString(note))
	}
}

func TestANoteHoldsNothingThatControlsATerminal(t *testing.T) {
	s := newAPIServer(t)
	r, _ := recorderTo(s)
	tell(r, 1, "the VM \x1b[2J\u202egnp\nis deleted")
	written(t, r)
	if note := s.events(t)[0].Note; note != "the VM �[2J�gnp is deleted" {
		t.Errorf("the note is %q", note)
	}
}

func TestAnEventOfAClusterScopedObjectIsInTheDefaultNamespace(t *testing.T) {
	s := newAPIServer(t)
	r, _ := recorderTo(s)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "two", ResourceVersion: "3"}}
	r.Eventf(node, node, corev1.EventTypeWarning, "Left", "Leave", "100%% of %s", "it")
	written(t, r)
	got := s.events(t)
	if len(got) != 1 || got[0].Namespace != "default" || got[0].Note != "100% of it" || got[0].Related == nil || got[0].Related.ResourceVersion != "" {
		t.Errorf("events are %v", got)
	}
}

func TestEventsThatCannotBeRepeatedTakeNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := recorderTo(newAPIServer(t))
		r.opts.Now = time.Now
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Start(ctx) }()
		for i := range 50 {
			tell(r, i, fmt.Sprintf("note %d", i))
		}
		<-time.After(seriesEnds + time.Minute) // nothing happens any more
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(r.series) != 0 {
			t.Errorf("%d events are remembered that none can repeat", len(r.series))
		}
	})
}

func TestTheLastOfManyEventsAreRemembered(t *testing.T) {
	s := newAPIServer(t)
	r, c := recorderTo(s)
	tell(r, 1, "created web-0")
	written(t, r)
	for i := range maxSeries - 1 {
		r.series[key{note: fmt.Sprint(i)}] = series{last: c.now.Add(-time.Second)}
	}
	tell(r, 2, "created web-1")
	tell(r, 3, "created web-0")
	written(t, r)
	if len(r.series) > maxSeries {
		t.Errorf("%d events are remembered, want %d at most", len(r.series), maxSeries)
	}
	if want := []string{"create created web-0", "create created web-1", "count"}; !slices.Equal(s.asked, want) {
		t.Errorf("asked %q, want %q", s.asked, want)
	}
}
