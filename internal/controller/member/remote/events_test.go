package remote

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// newStream is a watch on a server that sends as fast as the client reads.
func newStream(t *testing.T, from io.Reader, guard *Guard) *boundedBody {
	t.Helper()
	return &boundedBody{ReadCloser: io.NopCloser(from), guard: guard, ctx: t.Context(), limit: guard.Limits.Object, stream: true, patience: time.Minute, end: func() {}}
}

// again repeats a text endlessly.
type again struct {
	text string
	left string
}

func (a *again) Read(p []byte) (n int, _ error) {
	if a.left == "" {
		a.left = a.text
	}
	n = copy(p, a.left)
	a.left = a.left[n:]
	return n, nil
}

// TestSmallEventsWithoutEndAreReadAtAPace: by their bytes alone they would occupy a processor. Successive incarnations share
// the pace, so that a server gains nothing by ending them.
func TestSmallEventsWithoutEndAreReadAtAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const event, incarnations = `{"type":"MODIFIED","object":{"metadata":{"name":"a"}}}`, 3
		limits := DefaultLimits()
		pace := NewPace(limits)
		read, began := 0, time.Now()
		for i := range incarnations {
			body := newStream(t, &again{text: strings.Repeat(event, 100)}, NewGuard(limits, pace))
			buffer := make([]byte, 64<<10)
			for time.Since(began) < time.Duration(i+1)*10*time.Second {
				n, err := body.Read(buffer)
				if err != nil {
					t.Fatal(err)
				}
				read += n
			}
		}
		events, most := read/len(event), limits.Burst/eventCost+limits.Rate/eventCost*10*incarnations
		if events < most*9/10 || events > most*11/10 {
			t.Errorf("%d events were read in %s, and %d may be", events, time.Since(began), most)
		}
		t.Logf("%d events in %s", events, time.Since(began))
	})
}

// TestManyEventsOfAnHonestMemberAreReadInTime: a member with 20,000 groups in 20,000 namespaces streams its lists, and again
// immediately after an outage. A list can take a minute.
func TestManyEventsOfAnHonestMemberAreReadInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 20_000
		event := func(n int) string {
			return `{"type":"ADDED","object":{"data":"` + strings.Repeat("x", n) + `"}}`
		}
		group, namespace := event(4300), event(700) // as they are on the wire, with managed fields
		limits := DefaultLimits()
		pace := NewPace(limits)
		for _, within := range []time.Duration{15 * time.Second, 30 * time.Second} {
			began := time.Now()
			for _, list := range []string{group, namespace} {
				body := newStream(t, io.LimitReader(&again{text: list}, int64(most*len(list))), NewGuard(limits, pace))
				if n, err := io.Copy(io.Discard, body); n != int64(most*len(list)) || err != nil {
					t.Fatalf("%d bytes, %v", n, err)
				}
			}
			if took := time.Since(began); took > within {
				t.Errorf("all was read in %s, not in %s", took, within)
			} else {
				t.Logf("all was read in %s", took)
			}
		}
	})
}
