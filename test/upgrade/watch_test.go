//go:build unix && upgrade

package upgrade

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// lookEvery is the interval of the watch's observations.
const lookEvery = 100 * time.Millisecond

// watch observes the groups' status and vCenter continuously, and records violations.
type watch struct {
	end  context.CancelFunc
	wait sync.WaitGroup

	mu sync.Mutex
	// wrong has each violation once, by its compared part.
	wrong map[string]string
	looks int
	// most VMs that the quota's groups had, or were granted.
	most int
	// epochs are the highest owner that each group's status has named.
	epochs map[types.UID]v1alpha1.Epoch
}

func (s *tale) startWatch() {
	ctx, cancel := context.WithCancel(s.Context())
	s.watch = &watch{end: cancel, wrong: map[string]string{}, epochs: map[types.UID]v1alpha1.Epoch{}}
	s.Cleanup(s.watch.stop)
	s.watch.wait.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				s.look(ctx)
			}
		}
	})
}

func (w *watch) stop() {
	w.end()
	w.wait.Wait()
}

// say records a violation; w.mu is held.
func (w *watch) say(key, format string, args ...any) {
	if w.wrong[key] == "" {
		w.wrong[key] = time.Now().Format("15:04:05.000 ") + fmt.Sprintf(format, args...)
	}
}

// look observes once. A member is listed before vCenter and again after it, and the smaller of the two counts: between
// them a group can have shrunk in one member, so that another could grow.
func (s *tale) look(ctx context.Context) {
	kept := s.keptNow()
	first, err1 := s.listed(ctx)
	vms, err2 := s.Person.VMs(ctx)
	second, err3 := s.listed(ctx)
	w := s.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			w.say("look", "look: %v", err)
			return
		}
	}
	w.looks++
	granted, there := int32(0), 0
	for _, g := range s.groups {
		before, now := first[g.uid], second[g.uid]
		if before == nil || now == nil {
			w.say("gone "+g.String(), "%s was deleted", g)
			continue
		}
		w.owner(g, before)
		w.owner(g, now)
		if g.namespace == limited {
			granted += min(admitted(before), admitted(now))
			there += countBelow(vms, g.folder)
		}
		w.has(g, kept[g], before, vms)
		if g.namespace == rolling {
			w.bounds(g, int(*now.Spec.Replicas), vms)
		}
	}
	w.most = max(w.most, int(granted), there)
	if granted > quota || there > quota {
		w.say("quota", "%d VMs were granted and %d are there, the quota is %d", granted, there, quota)
	}
}

func (s *tale) listed(ctx context.Context) (map[types.UID]*v1alpha1.VmGroup, error) {
	all := map[types.UID]*v1alpha1.VmGroup{}
	for _, member := range members {
		list := &v1alpha1.VmGroupList{}
		if err := s.Members[member].List(ctx, list); err != nil {
			return nil, err
		}
		for i := range list.Items {
			all[list.Items[i].UID] = &list.Items[i]
		}
	}
	return all, nil
}

// owner checks that the owner in status is never an earlier one.
func (w *watch) owner(g *subject, now *v1alpha1.VmGroup) {
	if now.Status.Ownership == nil {
		return
	}
	epoch := now.Status.Ownership.Epoch
	if epoch.Less(w.epochs[g.uid]) {
		w.say("owner "+g.String(), "%s names owner %+v after %+v", g, epoch, w.epochs[g.uid])
		return
	}
	w.epochs[g.uid] = epoch
}

// keptNow returns the VMs that must not change.
func (s *tale) keptNow() map[*subject]map[string]sim.VM {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	kept := map[*subject]map[string]sim.VM{}
	for _, g := range s.groups {
		kept[g] = maps.Clone(g.kept)
	}
	return kept
}

// has checks that each VM that must not change before and after the observation exists unchanged, in vCenter and in
// status.
func (w *watch) has(g *subject, kept map[string]sim.VM, now *v1alpha1.VmGroup, vms map[string]sim.VM) {
	for path, was := range kept {
		if g.kept[path].Ref != was.Ref {
			continue
		}
		is, ok := vms[path]
		switch {
		case !ok:
			w.say("vm "+path, "%s (%s) was deleted", path, was.Ref.Value)
		case is.Ref != was.Ref || is.CPU != was.CPU || is.MemoryMB != was.MemoryMB || is.UUID != was.UUID || !is.On || !maps.Equal(is.Extra, was.Extra):
			w.say("vm "+path, "%s is %+v, was %+v", path, is, was)
		}
		if !slices.ContainsFunc(now.Status.VMs, func(vm v1alpha1.VMStatus) bool { return vm.MoRef == was.Ref.Value }) {
			w.say("status "+path, "the status of %s does not know %s (%s) any more: %+v", g, path, was.Ref.Value, now.Status.VMs)
		}
	}
}

func admitted(g *v1alpha1.VmGroup) int32 {
	if g.Status.Admitted == nil {
		return 0
	}
	return g.Status.Admitted.Replicas
}

func countBelow(vms map[string]sim.VM, folder string) int {
	n := 0
	for path := range vms {
		if strings.HasPrefix(path, folder+"/") {
			n++
		}
	}
	return n
}

// verdict fails for the violations so far.
func (s *tale) verdict(when string) {
	s.Helper()
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(s.watch.wrong)) {
		s.Errorf("%s: %s", when, s.watch.wrong[key])
		s.watch.wrong[key] = ""
		delete(s.watch.wrong, key)
	}
	if s.watch.looks == 0 {
		s.Errorf("%s: no observation", when)
	}
	s.Logf("%s: %d looks, at most %d VMs under the quota of %d", when, s.watch.looks, s.watch.most, quota)
	s.watch.looks, s.watch.most = 0, 0
}

// change runs a function that changes g.kept between observations.
func (w *watch) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}
