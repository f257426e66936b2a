package vcenter

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/events"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// led is whether a replica leads.
type led bool

func (l *led) Leading() bool { return bool(*l) }

func emptyFolder(ref, leaf string) vsphere.GroupFolder {
	return vsphere.GroupFolder{Ref: vsphere.FolderRef(ref), FolderPath: vsphere.FolderPath{Member: "team-a", Namespace: "shop", Leaf: leaf}, InventoryPath: "/DC0/vm/vm-operator/team-a/shop/" + leaf}
}

// sweeper looks at a VCenter every lookInterval.
type sweeper struct {
	*Reconciler
	c     *connectionForTest
	now   time.Time
	leads led
	// asked are the UIDs that a member was asked for, groups those that exist, away is why it does not answer.
	asked  []string
	groups map[string]bool
	away   error
	told   *events.FakeRecorder
}

func newSweeper(folders ...vsphere.GroupFolder) *sweeper {
	s := &sweeper{c: &connectionForTest{diary: &diary{}, empty: folders}, now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), leads: true, groups: map[string]bool{}, told: events.NewFakeRecorder(100)}
	s.Reconciler = &Reconciler{Now: func() time.Time { return s.now }, Leadership: &s.leads, Events: s.told, NoGroup: func(_ context.Context, member, namespace, uid string) (bool, error) {
		s.asked = append(s.asked, member+"/"+namespace+"/"+uid)
		return s.away == nil && !s.groups[uid], s.away
	}}
	return s
}

// look looks at the VCenter until some time has passed.
func (s *sweeper) look(t *testing.T, d time.Duration) {
	t.Helper()
	for end := s.now.Add(d); !s.now.After(end); s.now = s.now.Add(lookInterval) {
		s.sweep(t.Context(), vcenterForTest(), s.c)
	}
}

func TestAnEmptyFolderOfAGroupThatDoesNotExistGoesAfterAWhile(t *testing.T) {
	s := newSweeper(emptyFolder("f-1", "web.0a1b2c3d"))
	s.look(t, folderPatience-lookInterval)
	if len(s.asked) != 0 || len(s.c.diary.read()) != 0 {
		t.Fatalf("before its time: asked %v, %v", s.asked, s.c.diary.read())
	}
	s.look(t, lookInterval)
	if !slices.Equal(s.asked, []string{"team-a/shop/0a1b2c3d"}) || !slices.Equal(s.c.diary.read(), []string{"removed f-1"}) {
		t.Fatalf("asked %v, %v", s.asked, s.c.diary.read())
	}
	if len(s.told.Events) != 1 {
		t.Errorf("%d events tell of it", len(s.told.Events))
	}
}

func TestAFolderThatIsNotCertainlyOfNobodyStays(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*sweeper)
		// asked is how often in an hour the member is asked.
		asked int
	}{
		"its group exists":            {func(s *sweeper) { s.groups["0a1b2c3d"] = true }, 6},
		"its member does not answer":  {func(s *sweeper) { s.away = errors.New("no route to host") }, 6},
		"another replica leads":       {func(s *sweeper) { s.leads = false }, 0},
		"nobody can ask":              {func(s *sweeper) { s.NoGroup = nil }, 0},
		"its name has no UID":         {func(s *sweeper) { s.c.empty[0].Leaf = "web" }, 0},
		"its UID is none":             {func(s *sweeper) { s.c.empty[0].Leaf = "web.0a1b2c3x" }, 0},
		"its UID is too long":         {func(s *sweeper) { s.c.empty[0].Leaf = "web.0a1b2c3d4" }, 0},
		"no group could be called so": {func(s *sweeper) { s.c.empty[0].Leaf = "My Web.0a1b2c3d" }, 0},
		"it has no group's name":      {func(s *sweeper) { s.c.empty[0].Leaf = ".0a1b2c3d" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSweeper(emptyFolder("f-1", "web.0a1b2c3d"))
			c.change(s)
			s.look(t, time.Hour)
			if gone := s.c.diary.read(); len(gone) != 0 || len(s.told.Events) != 0 {
				t.Errorf("%v, and %d events", gone, len(s.told.Events))
			}
			if len(s.asked) > c.asked || len(s.asked) < c.asked-1 {
				t.Errorf("the member was asked %d times in an hour, want %d", len(s.asked), c.asked)
			}
		})
	}
}

func TestAFolderThatWasUsedMeanwhileIsNotEmptyForLongEnough(t *testing.T) {
	s := newSweeper(emptyFolder("f-1", "web.0a1b2c3d"))
	s.look(t, folderPatience/2)
	empty := s.c.empty
	s.c.empty = nil // a VM was in it, or the inventory was not complete
	s.look(t, lookInterval)
	s.c.empty = empty
	s.look(t, folderPatience-2*lookInterval)
	if len(s.asked) != 0 {
		t.Errorf("asked %v", s.asked)
	}
	s.empty.forget("default")
	s.look(t, folderPatience-2*lookInterval)
	if len(s.asked) != 0 {
		t.Errorf("after the connection was lost, asked %v", s.asked)
	}
}

func TestAFewFoldersAreRemovedAtOnceAndAReplicaThatLeadsNoMoreRemovesNone(t *testing.T) {
	s := newSweeper(emptyFolder("f-1", "a.00000001"), emptyFolder("f-2", "b.00000002"), emptyFolder("f-3", "c.00000003"), emptyFolder("f-4", "d.00000004"))
	s.leads = false
	s.look(t, folderPatience)
	s.leads = true
	s.sweep(t.Context(), vcenterForTest(), s.c)
	if got := s.c.diary.read(); !slices.Equal(got, []string{"removed f-1", "removed f-2", "removed f-3"}) {
		t.Errorf("a new leader removed %v", got)
	}
	s.now = s.now.Add(lookInterval)
	s.NoGroup = func(context.Context, string, string, string) (bool, error) {
		s.leads = false // while the member is asked
		return true, nil
	}
	s.sweep(t.Context(), vcenterForTest(), s.c)
	if got := s.c.diary.read(); len(got) != 3 {
		t.Errorf("without leading: %v", got)
	}
}

// TestAMemberThatDoesNotAnswerDoesNotHoldUpTheLookAtAVCenter: its folders are asked about beside it, and by one at a time.
func TestAMemberThatDoesNotAnswerDoesNotHoldUpTheLookAtAVCenter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSweeper(vsphere.GroupFolder{Ref: vsphere.FolderRef("group-1"), FolderPath: vsphere.FolderPath{Member: "m", Namespace: "n", Leaf: "web.0a1b2c3d"}})
		asked := 0
		s.NoGroup = func(ctx context.Context, _, _, _ string) (bool, error) {
			asked++
			<-ctx.Done()
			return false, ctx.Err()
		}
		began := time.Now()
		for range 90 {
			s.startSweep(t.Context(), vcenterForTest(), s.c)
			s.now = s.now.Add(lookInterval)
			synctest.Wait()
		}
		if took := time.Since(began); took > 0 || asked != 1 {
			t.Errorf("looking at the VCenter waited for %s, and the member was asked %d times", took, asked)
		}
		<-time.After(sweepTimeout) // on the clock of this test
		synctest.Wait()
		s.now = s.now.Add(folderPatience)
		s.startSweep(t.Context(), vcenterForTest(), s.c)
		synctest.Wait()
		if asked != 2 {
			t.Errorf("the member was asked %d times, want once more after it did not answer", asked)
		}
		<-time.After(sweepTimeout) // on the clock of this test
	})
}
