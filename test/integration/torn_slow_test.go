//go:build unix && slow

package integration

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	// tears is the number of stream breaks, tornVMs the number of VMs of the group.
	tears   = 100
	tornVMs = 5
	// actedWithin is the time limit, from the return of the stream, for the reaction to a user's change.
	actedWithin = 10 * time.Second
)

// TestWhatAPersonDoesWhileTheStreamBreaksIsActedOnAndNoVMIsTooMany breaks the stream of the inventory repeatedly while
// a user powers VMs off, destroys them, stamps them and moves them. The result is checked in vCenter.
func TestWhatAPersonDoesWhileTheStreamBreaksIsActedOnAndNoVMIsTooMany(t *testing.T) {
	w := calm.enter(t)
	vcenter, err := sim.Start(sim.Options{Templates: []string{template}, Username: stack.Username, Password: stack.Password})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(vcenter.Close)
	proxy, err := sim.NewProxy(vcenter.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	v := newVCenterAt(t, w, "torn", proxy)
	p := newPlace(t, w, "team-a", "torn")
	group := p.apply(p.group("vg", tornVMs, v.of))
	person, err := vcenter.Operator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(person.Close)
	s := &tornStory{
		t: t, place: p, proxy: proxy, person: person, folder: folderOf(t, p.untilRunning("vg", tornVMs)), uid: string(group.UID),
		dice: rand.New(rand.NewPCG(41, 1)), took: map[string]time.Duration{},
	}
	t.Cleanup(func() { proxy.Hook(nil) })
	end := s.watch(vcenter)
	for round := range tears {
		s.round = round
		s.tear()
		if t.Failed() {
			break
		}
	}
	end()
	t.Logf("%d looks; the longest until each was acted on: %v", s.looks, s.took)
}

// tornStory is the group, and the user who changes its VMs.
type tornStory struct {
	t      *testing.T
	place  *place
	proxy  *sim.Proxy
	person *sim.Operator
	folder string
	uid    string
	dice   *rand.Rand
	round  int
	// took is the maximum reaction time for each kind of change.
	took map[string]time.Duration

	mu    sync.Mutex
	looks int
}

// ours are the VMs that carry the group's stamp, in any folder.
func (s *tornStory) ours(ctx context.Context, by *sim.Operator) (map[string]sim.VM, error) {
	vms, err := by.VMs(ctx)
	maps.DeleteFunc(vms, func(_ string, vm sim.VM) bool { return !strings.Contains(vm.Extra[inventory.KeyOwner], ";"+s.uid+";") })
	return vms, err
}

// watch checks continuously for surplus VMs, until end is called.
func (s *tornStory) watch(vcenter *sim.Simulator) (end func()) {
	eye, err := vcenter.Operator(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	var looking sync.WaitGroup
	looking.Go(func() {
		defer eye.Close()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			vms, err := s.ours(ctx, eye)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				s.t.Errorf("read vCenter: %v", err)
			}
			maps.DeleteFunc(vms, func(_ string, vm sim.VM) bool { return vm.Extra[inventory.KeyTombstone] != "" }) // a leaving VM is replaced at once
			if len(vms) > tornVMs {
				s.t.Errorf("%d VMs carry the group's stamp, and it wants %d: %s", len(vms), tornVMs, paths(vms))
			}
			s.mu.Lock()
			s.looks++
			s.mu.Unlock()
		}
	})
	end = sync.OnceFunc(func() { cancel(); looking.Wait() })
	s.t.Cleanup(end)
	return end
}

// tear breaks the stream while the user makes a change, and waits for the reaction.
func (s *tornStory) tear() {
	s.t.Helper()
	vms, err := s.ours(s.t.Context(), s.person)
	if err != nil || len(vms) != tornVMs {
		s.t.Fatalf("round %d begins with %s, error %v", s.round, paths(vms), err)
	}
	path := slices.Sorted(maps.Keys(vms))[s.dice.IntN(tornVMs)]
	changed := make(chan deed, 1)
	kind, wait := s.dice.IntN(5), s.pause(600)
	go func() {
		<-wait
		changed <- s.deed(kind, path, vms[path])
	}()
	<-s.pause(300)
	back := s.breakStream(s.dice.IntN(4))
	done := <-changed
	s.returned(back)
	s.acted(done)
	if done.after != nil {
		s.acted(done.after())
	}
}

// pause ends after a random number of milliseconds.
func (s *tornStory) pause(most int) <-chan time.Time {
	return time.After(time.Duration(s.dice.IntN(most)) * time.Millisecond)
}

// breakStream cuts the call that waits for news, and this many later ones. The channel is closed once vCenter is asked
// for news again.
func (s *tornStory) breakStream(more int) (back <-chan struct{}) {
	returned := make(chan struct{})
	end := sync.OnceFunc(func() { close(returned) })
	slow := time.Duration(s.dice.IntN(400)) * time.Millisecond
	var mu sync.Mutex
	s.proxy.Hook(func(c sim.Call) faultproxy.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch c.Method {
		case "CreateFilter":
			return faultproxy.Fault{Delay: slow}
		case "WaitForUpdatesEx":
			if more > 0 {
				more--
				return faultproxy.Fault{Act: faultproxy.CutAfter}
			}
			return faultproxy.Fault{After: end}
		}
		return faultproxy.Fault{}
	})
	s.proxy.CutConnections()
	return returned
}

func (s *tornStory) returned(back <-chan struct{}) {
	s.t.Helper()
	select {
	case <-back:
	case <-time.After(patience):
		s.t.Fatalf("round %d: the stream does not come back", s.round)
	}
	s.proxy.Hook(nil)
}

// deed is a user's change.
type deed struct {
	what string
	err  error
	// done reports whether the operator has reacted to it.
	done func(vms map[string]sim.VM) bool
	// says is the reason of condition Ready, if the operator can only report it.
	says string
	// after is the user's next action.
	after func() deed
}

// deed changes a VM in one of five ways.
func (s *tornStory) deed(kind int, path string, vm sim.VM) deed {
	ctx := s.t.Context()
	there := func(ref moRef, vms map[string]sim.VM) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(vms)), func(vm sim.VM) bool { return vm.Ref == ref })
	}
	complete := func(vms map[string]sim.VM) bool {
		for path, vm := range vms {
			if !vm.On || !strings.HasPrefix(path, s.folder+"/") {
				return false
			}
		}
		return len(vms) == tornVMs
	}
	replaced := func(vms map[string]sim.VM) bool { return complete(vms) && !there(vm.Ref, vms) }
	switch kind {
	case 0:
		return deed{what: "powers off", err: s.person.PowerOff(ctx, path), done: complete}
	case 1:
		return deed{what: "destroys", err: s.person.Destroy(ctx, path), done: replaced}
	case 2:
		return deed{what: "marks for destruction", err: s.person.Set(ctx, path, map[string]string{inventory.KeyTombstone: "person"}), done: replaced}
	case 3:
		name := fmt.Sprintf("kept-%d", s.round)
		err := s.person.Rename(ctx, path, name)
		if err == nil {
			nothing := map[string]string{}
			for _, key := range inventory.Keys {
				nothing[key] = ""
			}
			err = s.person.Set(ctx, s.folder+"/"+name, nothing)
		}
		return deed{what: "releases a VM", err: err, done: replaced, after: func() deed {
			return deed{what: "destroys the released VM", err: s.person.Destroy(ctx, s.folder+"/"+name), done: complete}
		}}
	default:
		aside := "/DC0/vm/" + path[strings.LastIndex(path, "/")+1:]
		return deed{what: "moves away", err: s.person.Move(ctx, path, "/DC0/vm"), says: v1alpha1.ReasonVMsLost, after: func() deed {
			return deed{what: "moves back", err: s.person.Move(ctx, aside, s.folder), done: complete, says: v1alpha1.ReasonAllVMsReady}
		}}
	}
}

// acted waits until the operator has reacted to a user's change.
func (s *tornStory) acted(d deed) {
	s.t.Helper()
	if d.err != nil {
		s.t.Fatalf("round %d: a person %s: %v", s.round, d.what, d.err)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(s.t.Context(), actedWithin)
	defer cancel()
	var vms map[string]sim.VM
	err := await.Condition(ctx, fmt.Sprintf("round %d: the operator to act when a person %s", s.round, d.what), func(ctx context.Context) (bool, error) {
		if d.says != "" {
			g := s.place.get("vg")
			if !says(g.Status.Conditions, v1alpha1.ConditionReady, condition(d.says), d.says, nil) {
				return false, nil
			}
		}
		var err error
		vms, err = s.ours(ctx, s.person)
		return err == nil && (d.done == nil || d.done(vms)), err
	})
	if err != nil {
		g := s.place.get("vg")
		s.t.Fatalf("%v; there are %s; phase %s, conditions %s", err, paths(vms), g.Status.Phase, stack.Words(g.Status.Conditions))
	}
	s.took[d.what] = max(s.took[d.what], time.Since(began).Round(10*time.Millisecond))
}

func condition(reason string) metav1.ConditionStatus {
	if reason == v1alpha1.ReasonAllVMsReady {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}
