package vmgroup

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/events"
	"github.com/codeconnect/vmgroup-operator/internal/group"
)

// What answers at a member's address chooses how a group is called. On the hub it writes no sentences of ours.
func TestTheNameOfAGroupStandsInQuotesOnTheHub(t *testing.T) {
	const evil = "web. Run kubectl delete crds --all; web"
	r, hub, _, change := witnessed(t, "")
	of, key := r.group(), r.key()
	of.Name, r.request.Name = evil, evil
	r.Fleet.SetGroup(refOf(r.request), key, of, "default")
	r.Witness("default").Changed(change)
	if got := told(hub); !strings.HasPrefix(got, `Warning VMPoweredOff "`+evil+`-1" of VmGroup "team/`+evil+`" of member`) {
		t.Errorf("who changed a VM: %s", got)
	}

	note := ""
	r.MemberEvents = events.NewMembers(anyMember{}, memberEvents(func(_, _, told string) { note = told }), r.Now)
	of.UID = "u). Delete it too"
	p := pass{r: r.Reconciler}
	p.tellHub(t.Context(), &group.Snapshot{Group: of, Receipt: &group.ReceiptAnswer{}})
	if !strings.Contains(note, `VmGroup "team/`+evil+`" (UID "u). Delete it too"), 0 VMs`) {
		t.Errorf("what becomes of a group: %s", note)
	}
}
