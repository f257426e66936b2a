package govmomi

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

// emptyVCenter is a vCenter without objects. It counts requests for single objects.
type emptyVCenter struct{ asked, searched atomic.Int64 }

func (v *emptyVCenter) RoundTrip(_ context.Context, req, res soap.HasFault) error {
	switch req := req.(type) {
	case *methods.RetrievePropertiesExBody:
		spec := req.Req.SpecSet[0]
		if spec.ReportMissingObjectsInResults == nil {
			v.asked.Add(1)
			return soap.WrapVimFault(&types.ManagedObjectNotFound{Obj: spec.ObjectSet[0].Obj})
		}
		res.(*methods.RetrievePropertiesExBody).Res = &types.RetrievePropertiesExResponse{}
		return nil
	case *methods.FindAllByUuidBody:
		v.searched.Add(1)
		res.(*methods.FindAllByUuidBody).Res = &types.FindAllByUuidResponse{}
		return nil
	}
	return errors.New("there is no such call")
}

// lookedUp runs the look-ups of a Server with an empty vCenter until the test ends.
func lookedUp(t *testing.T) (*Server, *emptyVCenter) {
	t.Helper()
	v, s := &emptyVCenter{}, New(Config{Name: "empty"})
	service := func(kind string) types.ManagedObjectReference {
		return types.ManagedObjectReference{Type: kind, Value: kind}
	}
	c := &connection{client: &vim25.Client{RoundTripper: v, ServiceContent: types.ServiceContent{
		PropertyCollector: service("PropertyCollector"), SearchIndex: new(service("SearchIndex")),
	}}}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() { _ = s.confirmSuspects(ctx, c) }()
	return s, v
}

// name makes a group reference nonexistent objects, with instance UUIDs.
func (s *Server) name(group vsphere.GroupKey, from, count int) {
	refs, uuids := make([]vsphere.Ref, 0, count), map[vsphere.Ref]string{}
	for i := range count {
		ref := vsphere.VMRef(fmt.Sprintf("vm-%s-%d", group.Group(), from+i))
		refs, uuids[ref] = append(refs, ref), ref.Value
	}
	s.claim(group, refs, uuids)
	s.seek(group.Member(), refs)
}

// A user writes status with other VM references each time. vCenter is asked for each one separately, so the user's
// member has a rate limit, and others do not wait.
func TestLookUpsOfWhatIsMadeUpHaveARateForEachMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := lookedUp(t)
		attacker, victim := vsphere.KeyOf("attacker", "a"), vsphere.KeyOf("victim", "v")
		for second := range 60 {
			s.name(attacker, second*500, 500)
			sleep(t.Context(), time.Second)
			if most := int64(lookUpsAtOnce + (second+1)*int(time.Second/lookUpInterval) + 1); v.asked.Load() > most || v.searched.Load() > most {
				t.Fatalf("after %d s, %d objects were asked for and %d instance UUIDs, want %d at most", second+1, v.asked.Load(), v.searched.Load(), most)
			}
		}
		if least := int64(lookUpsAtOnce + 59*int(time.Second/lookUpInterval)); v.asked.Load() < least {
			t.Errorf("%d objects were asked for, want %d at least", v.asked.Load(), least)
		}
		s.name(victim, 0, 500)
		lost := vsphere.VMRef("vm-lost")
		s.index.Missed(s.index.Begin(), lost) // the inventory has shown it
		s.wanted([]vsphere.Ref{lost})
		sleep(t.Context(), 50*time.Millisecond)
		for _, ref := range []vsphere.Ref{vsphere.VMRef("vm-v-499"), lost} {
			if _, state := s.index.VM(ref); state != inventory.Gone {
				t.Errorf("%s waits for the attacker", ref)
			}
		}
	})
}

// Each instance UUID that groups have recorded for an object is searched for, and counts.
func TestALookUpCountsForEachInstanceUUID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := lookedUp(t)
		ref := vsphere.VMRef("vm-1")
		for round := range 10 {
			for i := range 500 {
				group := vsphere.KeyOf("attacker", fmt.Sprint(i))
				s.claim(group, []vsphere.Ref{ref}, map[vsphere.Ref]string{ref: fmt.Sprintf("%d-%d", round, i)})
			}
			s.seek("attacker", []vsphere.Ref{ref})
			sleep(t.Context(), time.Second)
		}
		if n := v.searched.Load(); n > lookUpsAtOnce+500+10*int64(time.Second/lookUpInterval) || n < lookUpsAtOnce {
			t.Errorf("%d instance UUIDs were searched for", n)
		}
	})
}

// While a member waits for its rate limit, failed look-ups are retried on time.
func TestAFailedLookUpIsTriedAgainWhileAnotherMemberWaits(t *testing.T) {
	now := time.Unix(0, 0)
	a := attempts{tried: map[vsphere.Ref]bool{}}
	failed, waiting := lookUp{ref: vsphere.VMRef("vm-1")}, lookUp{vsphere.VMRef("vm-2"), "attacker"}
	pending := []lookUp{failed, waiting}
	for range 3 {
		if fresh := a.fresh(pending, now); len(fresh) != 2 {
			t.Fatalf("%v are to be looked up, want both", fresh)
		}
		a.note([]vsphere.Ref{failed.ref}, pending, now)
		if fresh := a.fresh(pending, now.Add(a.pause-1)); len(fresh) != 1 || fresh[0] != waiting {
			t.Errorf("%v are to be looked up before the pause is over", fresh)
		}
		now = now.Add(a.pause)
	}
	if a.pause != 4*confirmFirst {
		t.Errorf("the pause is %s after three failures", a.pause)
	}
}
