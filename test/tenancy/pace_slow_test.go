//go:build unix && slow

package tenancy

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/hostileapi"
)

const (
	// atOnce and aSecond are the read rates of a member's small events, as in docs/reference/member-limits.md.
	atOnce, aSecond = 24_576, 1536
	// onTheWay are events that are sent and not read yet: those in the windows of HTTP/2 and in the buffers of sockets.
	onTheWay = 40_000
	// untilPaced is when a rate-limited member has sent its burst and all events in flight.
	untilPaced = atOnce + onTheWay
)

// TestAWatchThatIsAFloodOfSmallEventsIsReadAtItsPaceAndTheMemberStays: the events are valid and endless. They are
// counted at the sender.
func TestAWatchThatIsAFloodOfSmallEventsIsReadAtItsPaceAndTheMemberStays(t *testing.T) {
	w := shared.enter(t)
	g := newGuarded(t, w, "pace")
	a := newAttacker(t, w, "small-events", fresh("small-events"))
	event := func(kind, annotations string, version int) string {
		return fmt.Sprintf(`{"type":%q,"object":{"kind":"VmGroup","apiVersion":%q,"metadata":{"name":"busy","namespace":%q,"uid":"busy","resourceVersion":"%d"%s},`+
			`"spec":{"cpu":1,"memory":1,"replicas":0,"template":%q}}}`+"\n", kind, v1alpha1.GroupVersion, a.namespace, version, annotations, template)
	}
	var sent atomic.Int64
	watch := hostileapi.Endless(event("ADDED", "", 1)+event("BOOKMARK", `,"annotations":{"k8s.io/initial-events-end":"true"}`, 2), 1<<40, func(i int) string {
		sent.Add(1)
		return event("MODIFIED", "", i+3)
	}, "")
	a.Attack(hostileapi.OnLists(groups, hostileapi.Refuse(http.StatusUnprocessableEntity, "Invalid"), watch))
	defer func() {
		a.Attack(nil)
		a.proxy.CutConnections()
	}()
	began := time.Now()
	a.joined()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := await.Condition(ctx, fmt.Sprintf("the operator to read %d events", untilPaced), func(context.Context) (bool, error) {
		return sent.Load() >= untilPaced, nil
	}); err != nil {
		t.Fatalf("%v; it read %d", err, sent.Load())
	}
	g.served("while an API server sends small events without end")
	n, took := sent.Load(), time.Since(began)
	if most := untilPaced + aSecond*int64(took/time.Second+1); n > most {
		t.Errorf("the operator read %d events in %s, more than %d", n, took, most)
	}
	t.Logf("the operator read %d events in %s", n, took)
	if err := w.UntilServed(t.Context(), a.member); err != nil {
		t.Errorf("a member that sends what is all right, if slowly read, is Ready: %v", err)
	}
	w.isSmall(t)
}
