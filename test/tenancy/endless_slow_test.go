//go:build unix && slow

package tenancy

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/hostileapi"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// oneBookmark is an event of a watch of groups.
const oneBookmark = `{"type":"BOOKMARK","object":{"kind":"VmGroup","apiVersion":"vm.codeconnect.vmworld.com/v1alpha1","metadata":{"resourceVersion":"7"}}}` + "\n"

// turned is an attacker that was an honest member for a while.
type turned struct {
	*attacker
	how hostileapi.Attack
	// watches that the operator has begun since then.
	watches atomic.Int64
	vm      string
}

// TestAPIServersThatNeverEndAreNotReadyAndTheirVMsStay: members with a group each turn hostile. This is reported, their
// VMs stay, service for others is unaffected, and all recovers when they are honest again.
func TestAPIServersThatNeverEndAreNotReadyAndTheirVMsStay(t *testing.T) {
	w := shared.enter(t)
	g := newGuarded(t, w, "endless")
	fallBack, gone := hostileapi.Refuse(http.StatusUnprocessableEntity, "Invalid"), hostileapi.Refuse(http.StatusGone, "Expired")
	all := map[string]*turned{
		"gone":  {how: hostileapi.OnLists(groups, nil, gone)},
		"short": {how: hostileapi.OnLists(groups, nil, hostileapi.Endless(oneBookmark, 0, nil, ""))},
		"drip":  {how: hostileapi.OnLists(groups, hostileapi.Drip(inList, time.Second), hostileapi.Anew(fallBack, gone))},
		"stuck": {how: hostileapi.OnLists(groups, gone, hostileapi.Anew(hostileapi.Drip("", time.Second), gone))},
		"bomb":  {how: hostileapi.OnLists(groups, hostileapi.Compressed(oneList, 1<<30, `"}}}]}`), fallBack)},
	}
	for name, a := range all {
		a.attacker = newAttacker(t, w, name, fresh(name)).joined()
		a.apply("own", 1, false)
		a.vm = a.untilRunning("at first", "own", 1).Status.VMs[0].MoRef
	}
	began := time.Now()
	for _, a := range all {
		a.Attack(func(call localcluster.APICall) http.HandlerFunc {
			if call.Resource == groups && call.Verb == "watch" {
				a.watches.Add(1)
			}
			return a.how(call)
		})
		a.proxy.CutConnections()
	}
	all["bomb"].untilItSays(v1alpha1.ReasonMemberUnreachable, "encoding", "which was not asked for")
	for name, says := range map[string]string{
		"gone": "ends the watch of VmGroups again and again", "short": "ends the watch of VmGroups again and again",
		"drip": "list of VmGroups has not come to an end", "stuck": "list of VmGroups has not come to an end",
	} {
		all[name].untilItSaysWithin(4*time.Minute, v1alpha1.ReasonCacheBehind, says, "What was last seen stays")
	}
	g.served("while API servers never end")
	for name, a := range all {
		if n, most := a.watches.Load(), 30+int64(time.Since(began)/time.Second)/5; n > most {
			t.Errorf("%s: the operator began %d watches in %s, more than %d", name, n, time.Since(began), most)
		}
		a.Attack(nil)
		a.proxy.CutConnections()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for _, a := range all {
		if err := w.UntilServed(ctx, a.member); err != nil {
			t.Error(err)
			continue
		}
		a.scale("own", 2)
		if vms := a.untilRunning("when it is good again", "own", 2).Status.VMs; vms[0].MoRef != a.vm {
			t.Errorf("the VM of %s was %s and is %s", a.member, a.vm, vms[0].MoRef)
		}
	}
	w.isSmall(t)
}
