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
)

// TestAMemberWaitsForItsOwnRequestsAlone: however many it sends, few of them are worked on at a time, and another member is answered meanwhile.
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
			o.Knows, o.Timeout = func(string, string) bool { return true }, time.Second
		})
		ask := func(member string) int {
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, ValidatePath(member, testSegment), bytes.NewReader(reviewOf(t, requestFor(t, nil, aGroup()))))
			request.Header.Set("Content-Type", "application/json")
			answer := httptest.NewRecorder()
			doors.Members.ServeHTTP(answer, request)
			return answer.Code
		}
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
		<-time.After(2 * time.Second) // of the bubble's clock: those that wait have waited for long enough
		synctest.Wait()
		if n := len(answered); n != flood-atOnce {
			t.Errorf("%d requests were answered while it was nobody's turn, want %d", n, flood-atOnce)
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
			t.Error("a request was worked on that nobody waits for any more")
		}
	})
}
