package webhook

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// TestAMemberWaitsForItsOwnRequestsAlone: however many it sends, few of them are processed at a time, and another member is answered meanwhile.
func TestAMemberWaitsForItsOwnRequestsAlone(t *testing.T) {
	const flood, other = 3 * atOnce, "team-b"
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int32
		held := make(chan struct{})
		w := knowledgeWith(policyNamed("default", defaultPolicy()))
		w.hook = func(ctx context.Context) error {
			if callOf(ctx).member == other {
				return nil
			}
			begun.Add(1)
			<-held
			return nil
		}
		doors, _ := handlers(t, w, func(o *Options) {
			o.Segments, o.Timeout = segments(func(string, string) bool { return true }), time.Second
		})
		ask := func(member string) int { return statusOf(t, doors, member, requestFor(t, nil, aGroup())) }
		answered := make(chan int, flood)
		for range flood {
			go func() { answered <- ask(testMember) }()
		}
		synctest.Wait()
		if n := begun.Load(); n != atOnce {
			t.Errorf("%d requests of a member are worked on at a time, want %d", n, atOnce)
		}
		if status := ask(other); status != http.StatusOK {
			t.Errorf("another member is answered with %d", status)
		}
		<-time.After(2 * time.Second) // of the bubble's clock: waiting requests have waited long enough
		synctest.Wait()
		if n := len(answered); n != flood-atOnce {
			t.Errorf("%d requests were answered before a turn was free, want %d", n, flood-atOnce)
		}
		close(held)
		statuses := map[int]int{}
		for range flood {
			statuses[<-answered]++
		}
		if statuses[http.StatusOK] != atOnce || statuses[http.StatusServiceUnavailable] != flood-atOnce {
			t.Errorf("got %v", statuses)
		}
		if begun.Load() != atOnce {
			t.Error("a request was processed whose caller does not wait any more")
		}
	})
}

// statusOf is the status of the answer to a request of a member.
func statusOf(t *testing.T, doors Doors, member string, asked *admissionv1.AdmissionRequest) int {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, ValidatePath(member, testSegment), bytes.NewReader(reviewOf(t, asked)))
	request.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	doors.Members.ServeHTTP(answer, request)
	return answer.Code
}

// newNamespace is knowledge that has not observed one namespace yet.
type newNamespace struct {
	*knowledge
	name  string
	known atomic.Bool
}

func (n *newNamespace) Requester(ctx context.Context, member, namespace string) (policy.Requester, error) {
	r, err := n.knowledge.Requester(ctx, member, namespace)
	if namespace == n.name && !n.known.Load() {
		r.NamespaceLabels = nil
	}
	return r, err
}

// TestGroupsOfNewNamespacesHaveNoOtherWait: a file with many namespaces and a group in each waits for their events, and turns
// are for requests with work.
func TestGroupsOfNewNamespacesHaveNoOtherWait(t *testing.T) {
	const flood = 3 * atOnce
	synctest.Test(t, func(t *testing.T) {
		w := &newNamespace{knowledge: knowledgeWith(policyNamed("default", defaultPolicy())), name: "new"}
		doors, _ := handlers(t, w, func(o *Options) {
			o.Segments, o.Timeout, o.NewsPatience = segments(func(string, string) bool { return true }), 2*time.Second, time.Second
		})
		inNew := requestFor(t, nil, aGroup(func(g *v1alpha1.VmGroup) { g.Namespace = w.name }))
		inNew.Namespace = w.name
		answered := make(chan int, flood)
		for range flood {
			go func() { answered <- statusOf(t, doors, testMember, inNew) }()
		}
		synctest.Wait()
		began := time.Now()
		if status := statusOf(t, doors, testMember, requestFor(t, nil, aGroup())); status != http.StatusOK || time.Since(began) > 0 {
			t.Errorf("a group of a namespace that is known is answered with %d, after %s", status, time.Since(began))
		}
		w.known.Store(true)
		for range flood {
			if status := <-answered; status != http.StatusOK {
				t.Errorf("a group of the new namespace is answered with %d", status)
			}
		}
	})
}
