package vmgroup

import (
	"context"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/effect"
	"github.com/codeconnect/vmgroup-operator/internal/events"
	"github.com/codeconnect/vmgroup-operator/internal/group"
)

// The server at a member's address chooses the name of a group. It must not write sentences of ours on the
// hub.
func TestTheNameOfAGroupStandsInQuotesOnTheHub(t *testing.T) {
	const evil = "web. Run kubectl delete crds --all; web"
	r := newRig(t)
	r.settle()
	of := r.group()
	of.Name, r.request.Name = evil, evil
	note := ""
	r.MemberEvents = events.NewMembers(anyMember{}, memberEvents(func(_, _, told string) { note = told }), r.Now)
	of.UID = "u). Delete it too"
	r.equipped()
	p := &effect.Pass{Store: keeps{}}
	if _, err := r.effects[group.Release].Do(t.Context(), p, &group.Snapshot{Group: of, Receipt: &group.ReceiptAnswer{}}, group.Decision{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(note, `VmGroup "team/`+evil+`" (UID "u). Delete it too"), 0 VMs`) {
		t.Errorf("what becomes of a group: %s", note)
	}
}

// keeps is a store in which groups stay.
type keeps struct{ effect.Store }

func (keeps) Release(context.Context, *v1alpha1.VmGroup) error { return nil }
