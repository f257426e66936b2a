package vcenter

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func emptyFolder(ref, leaf string) vsphere.GroupFolder {
	return vsphere.GroupFolder{Ref: vsphere.FolderRef(ref), FolderPath: vsphere.FolderPath{Member: "team-a", Namespace: "shop", Leaf: leaf}, InventoryPath: "/DC0/vm/vm-operator/team-a/shop/" + leaf}
}

// sweeper checks a VCenter every lookInterval.
type sweeper struct {
	*Reconciler
	c     *connectionForTest
	now   time.Time
	leads shardingtest.Leader
	// asked are the UIDs that were looked up in a member, groups the existing ones, away is why it does not answer.
	asked  []string
	groups map[string]bool
	away   error
	told   *events.FakeRecorder
}

func newSweeper(folders ...vsphere.GroupFolder) *sweeper {
	s := &sweeper{c: &connectionForTest{diary: &diary{}, empty: folders}, now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), leads: true, groups: map[string]bool{}, told: events.NewFakeRecorder(100)}
	s.Reconciler = &Reconciler{Now: func() time.Time { return s.now }, Leader: &s.leads, Events: s.told, Members: s}
	return s
}

// NoGroup implements Members.
func (s *sweeper) NoGroup(_ context.Context, member string, name types.NamespacedName, uid string) (bool, error) {
	s.asked = append(s.asked, member+"/"+name.String()+"/"+uid)
	return s.away == nil && !s.groups[uid], s.away
}

// answering is the answer of the members' API servers.
type answering func(ctx context.Context, uid string) (bool, error)

// NoGroup implements Members.
func (a answering) NoGroup(ctx context.Context, _ string, _ types.NamespacedName, uid string) (bool, error) {
	return a(ctx, uid)
}

// look checks the VCenter until some time has passed.
func (s *sweeper) look(t *testing.T, d time.Duration) {
	t.Helper()
	for end := s.now.Add(d); !s.now.After(end); s.now = s.now.Add(lookInterval) {
		s.once(t)
	}
}

// once checks the VCenter, and waits until members have answered.
func (s *sweeper) once(t *testing.T) {
	t.Helper()
	s.sweep(t.Context(), vcenterForTest(), s.c)
	s.empty.asked.Wait()
}

func TestAnEmptyFolderOfAGroupThatDoesNotExistGoesAfterAWhile(t *testing.T) {
	s := newSweeper(emptyFolder("f-1", "web.0a1b2c3d"))
	s.look(t, folderPatience-lookInterval)
	if len(s.asked) != 0 || len(s.c.diary.read()) != 0 {
		t.Fatalf("before its time: asked %v, %v", s.asked, s.c.diary.read())
	}
	s.look(t, lookInterval)
	if !slices.Equal(s.asked, []string{"team-a/shop/web/0a1b2c3d"}) || !slices.Equal(s.c.diary.read(), []string{"removed f-1"}) {
		t.Fatalf("asked %v, %v", s.asked, s.c.diary.read())
	}
	if len(s.told.Events) != 1 {
		t.Errorf("%d events tell of it", len(s.told.Events))
	}
}

func TestAFolderThatIsNotCertainlyOfNobodyStays(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*sweeper)
		// asked is the number of requests to the member in an hour.
		asked int
	}{
		"its group exists":            {func(s *sweeper) { s.groups["0a1b2c3d"] = true }, 6},
		"its member does not answer":  {func(s *sweeper) { s.away = errors.New("no route to host") }, 6},
		"another replica leads":       {func(s *sweeper) { s.leads = false }, 0},
		"no access to members":        {func(s *sweeper) { s.Members = nil }, 0},
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
	s.c.empty = nil // a VM was in it
	s.look(t, lookInterval)
	s.c.empty = empty
	s.look(t, folderPatience-2*lookInterval)
	if len(s.asked) != 0 {
		t.Errorf("asked %v", s.asked)
	}
}

// TestAGapInTheInventoryLeavesTheTimesOfEmptyFolders: in a soak, each lost session began the ten minutes of all folders anew, and none was removed for 17 minutes.
func TestAGapInTheInventoryLeavesTheTimesOfEmptyFolders(t *testing.T) {
	s := newSweeper(emptyFolder("f-1", "web.0a1b2c3d"))
	s.look(t, folderPatience/2)
	s.c.unsure = true
	s.look(t, folderPatience)
	if len(s.asked) != 0 {
		t.Fatalf("asked %v without knowledge", s.asked)
	}
	s.c.unsure = false
	s.once(t)
	if !slices.Equal(s.c.diary.read(), []string{"removed f-1"}) {
		t.Errorf("%v", s.c.diary.read())
	}
}

func TestAFewFoldersAreRemovedAtOnceAndAReplicaThatLeadsNoMoreRemovesNone(t *testing.T) {
	s := newSweeper(emptyFolder("f-1", "a.00000001"), emptyFolder("f-2", "b.00000002"), emptyFolder("f-3", "c.00000003"), emptyFolder("f-4", "d.00000004"))
	s.leads = false
	s.look(t, folderPatience)
	s.leads = true
	s.once(t)
	if got := s.c.diary.read(); !slices.Equal(got, []string{"removed f-1", "removed f-2", "removed f-3"}) {
		t.Errorf("a new leader removed %v", got)
	}
	s.now = s.now.Add(lookInterval)
	s.Members = answering(func(context.Context, string) (bool, error) {
		s.leads = false // while the request to the member runs
		return true, nil
	})
	s.once(t)
	if got := s.c.diary.read(); len(got) != 3 {
		t.Errorf("without leading: %v", got)
	}
}

// TestAMemberThatDoesNotAnswerHoldsNoLookAtItsVCenter: a hostile API server can leave empty folders, and then not answer.
func TestAMemberThatDoesNotAnswerHoldsNoLookAtItsVCenter(t *testing.T) {
	s := newSweeper(emptyFolder("f-1", "a.00000001"), emptyFolder("f-2", "b.00000002"), emptyFolder("f-3", "c.00000003"), emptyFolder("f-4", "d.00000004"))
	asked, answers := make(chan struct{}), make(chan struct{})
	s.Members = answering(func(ctx context.Context, uid string) (bool, error) {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("the member has any time to answer")
		}
		asked <- struct{}{}
		<-answers
		return uid != "00000002", nil
	})
	for end := s.now.Add(2 * folderPatience); !s.now.After(end); s.now = s.now.Add(lookInterval) {
		s.sweep(t.Context(), vcenterForTest(), s.c) // returns, although no member has answered
	}
	<-asked
	select {
	case <-asked:
		t.Error("the member is asked about several folders at a time")
	default:
	}
	s.empty.forget("default") // the connection was lost meanwhile
	close(answers)
	<-asked
	<-asked
	s.empty.asked.Wait()
	if got := s.c.diary.read(); !slices.Equal(got, []string{"removed f-1", "removed f-3"}) {
		t.Errorf("once the member answered: %v", got)
	}
}
