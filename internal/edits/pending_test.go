package edits

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

var (
	start = time.Date(2026, 11, 28, 19, 0, 0, 0, time.UTC)
	web   = Group{"team-a", "shop", "web"}
)

// at is group web of this generation, replicas and CPUs. Its version is ten times its generation.
func at(generation int64, replicas, cpu int32, managed ...metav1.ManagedFieldsEntry) *v1alpha1.VmGroup {
	return &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "u", Generation: generation, ResourceVersion: fmt.Sprint(100 + 10*generation), ManagedFields: managed,
		},
		Spec: v1alpha1.VmGroupSpec{Replicas: &replicas, CPU: cpu},
	}
}

func from(user string) By {
	return By{Member: "team-a", User: user, Manager: "kubectl-edit", At: start}
}

func managed(manager string, seconds int) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Time: new(metav1.NewTime(start.Add(time.Duration(seconds) * time.Second))),
	}
}

// story is a Pending whose results are checked.
type story struct {
	t *testing.T
	Pending
}

func (s *story) want(got []Request, user string, generation int64) {
	s.t.Helper()
	switch {
	case user == "" && len(got) == 0:
	case len(got) != 1 || got[0].Edit.User != user || got[0].Edit.Generation != generation:
		s.t.Errorf("proved %+v, want generation %d of %q", got, generation, user)
	}
}

func (s *story) update(user string, old, group *v1alpha1.VmGroup) []Request {
	s.t.Helper()
	r, changes := Update(from(user), old, group)
	if !changes {
		s.t.Fatal("no change")
	}
	return s.Add(r)
}

func (s *story) sees(g *v1alpha1.VmGroup) []Request { return s.See(web, SeenOf(g)) }

func (s *story) open(n int) {
	s.t.Helper()
	if len(s.requests) != n {
		s.t.Errorf("%d requests are open, want %d", len(s.requests), n)
	}
}

func TestAnEditIsProvedByTheStoredGroup(t *testing.T) {
	s := &story{t: t}
	s.Add(Create(from("alice"), at(1, 2, 1)))
	s.want(s.See(Group{"team-b", "shop", "web"}, SeenOf(at(1, 2, 1))), "", 0)
	s.want(s.sees(at(1, 2, 1)), "alice", 1)
	s.update("bob", at(1, 2, 1), at(2, 5, 1))
	s.want(s.sees(at(1, 2, 1)), "", 0)
	s.open(1)
	s.want(s.sees(at(2, 5, 1)), "bob", 2)
	s.open(0)
}

func TestAnEditThatIsNotStoredIsDropped(t *testing.T) {
	for name, seen := range map[string]*v1alpha1.VmGroup{
		"another change":   at(2, 2, 4),
		"a later change":   at(3, 5, 1),
		"also another one": at(2, 5, 4),
	} {
		s := &story{t: t}
		s.update("mallory", at(1, 2, 1), at(2, 5, 1))
		s.want(s.sees(seen), "", 0)
		if s.open(0); t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestTheSameChangeOfAnother: a refused request and a stored one can ask for the same.
func TestTheSameChangeOfAnother(t *testing.T) {
	s := &story{t: t}
	s.update("mallory", at(1, 2, 1, managed("kubectl-create", 0)), at(2, 5, 1, managed("kubectl-create", 0), managed("kubectl-edit", 3)))
	s.update("alice", at(1, 2, 1, managed("kubectl-create", 0)), at(2, 5, 1, managed("kubectl-create", 0), managed("kubectl-edit", 9)))
	s.want(s.sees(at(2, 5, 1, managed("kubectl-edit", 9), metav1.ManagedFieldsEntry{})), "alice", 2)
	s.open(0)

	// Within the second of the creation, too.
	s.update("mallory", at(1, 2, 1, managed("kubectl-create", 0)), at(2, 5, 1, managed("kubectl-create", 0), managed("tool", 0)))
	s.update("alice", at(1, 2, 1, managed("kubectl-create", 0)), at(2, 5, 1, managed("kubectl-create", 0), managed("kubectl-edit", 0)))
	s.want(s.sees(at(2, 5, 1, managed("kubectl-create", 0), managed("kubectl-edit", 0))), "alice", 2)
	s.open(0)

	// Without managed fields, the two cannot be distinguished.
	s.update("mallory", at(1, 2, 1), at(2, 5, 1))
	s.update("alice", at(1, 2, 1), at(2, 5, 1))
	s.want(s.sees(at(2, 5, 1)), "", 0)
	s.open(0)

	// An API server repeats its call after a conflict.
	s.update("alice", at(1, 2, 1), at(2, 5, 1))
	s.update("alice", at(1, 2, 1), at(2, 5, 1))
	s.want(s.sees(at(2, 5, 1)), "alice", 2)
	s.open(0)
}

func TestALaterRequestProvesTheOneBefore(t *testing.T) {
	s := &story{t: t}
	s.update("alice", at(1, 2, 1), at(2, 5, 1))
	s.want(s.update("bob", at(2, 5, 1), at(3, 5, 4)), "alice", 2)
	s.want(s.update("carol", at(3, 5, 4), at(4, 7, 4)), "bob", 3)
	s.want(s.sees(at(4, 7, 4)), "carol", 4)

	s.update("alice", at(1, 2, 1), at(2, 2, 4))
	r, _ := Scaled(from("bob"), at(2, 2, 4), Scale{UID: "u", Version: "120", From: 2, To: 5})
	s.want(s.Add(r), "alice", 2)
	s.want(s.sees(at(3, 5, 4)), "bob", 3)
}

func TestAnotherGroupOfTheSameNameProvesNothing(t *testing.T) {
	s := &story{t: t}
	s.update("alice", at(1, 2, 1), at(2, 5, 1))
	other := at(2, 5, 1)
	other.UID = "other"
	s.want(s.sees(other), "", 0)
	s.open(1)
}

func (s *story) scale(user string, known *v1alpha1.VmGroup, version string, from, to int32) bool {
	r, ok := Scaled(By{Member: "team-a", User: user, At: start}, known, Scale{UID: "u", Version: version, From: from, To: to})
	if ok {
		s.Add(r)
	}
	return ok
}

func TestScaling(t *testing.T) {
	s := &story{t: t}
	if !s.scale("alice", at(1, 2, 1), "110", 2, 5) {
		t.Fatal("not taken")
	}
	s.want(s.sees(at(1, 2, 1)), "", 0)
	s.want(s.sees(at(2, 5, 1)), "alice", 2)

	// The cache was behind the state that was scaled.
	s.scale("bob", at(1, 2, 1), "130", 2, 5)
	s.want(s.sees(at(2, 5, 1)), "", 0) // another user scaled up and down before
	s.open(1)
	s.want(s.sees(at(3, 2, 4)), "", 0)
	s.open(1)
	s.want(s.sees(at(4, 5, 4)), "bob", 4)

	// The state before was not seen: an edit of another kind can be between.
	s.scale("bob", at(1, 2, 1), "130", 2, 5)
	s.want(s.sees(at(2, 5, 1)), "", 0)
	s.want(s.sees(at(4, 5, 1)), "", 0)
	s.open(0)

	// The state that was scaled was never seen: its replicas are others.
	s.scale("bob", at(1, 7, 1), "115", 2, 5)
	s.want(s.sees(at(2, 5, 1)), "", 0)
	s.open(0)

	// Refused: another change is stored.
	s.scale("mallory", at(1, 2, 1), "110", 2, 5)
	s.want(s.sees(at(2, 3, 1)), "", 0)
	s.open(0)

	for name, taken := range map[string]bool{
		"no change":                   s.scale("x", at(1, 2, 1), "110", 2, 2),
		"a cache that is ahead":       s.scale("x", at(2, 5, 1), "110", 2, 5),
		"versions without an order":   s.scale("x", at(1, 2, 1), "v", 2, 5),
		"a group that was made again": func() bool { g := at(1, 2, 1); g.UID = types.UID("o"); return s.scale("x", g, "110", 2, 5) }(),
	} {
		if taken {
			t.Error(name)
		}
	}
}

func TestRequestsExpire(t *testing.T) {
	s := &story{t: t}
	s.update("alice", at(1, 2, 1), at(2, 5, 1))
	if groups := s.Expire(start.Add(Lifetime)); len(groups) != 1 || groups[0] != web {
		t.Errorf("groups %v", groups)
	}
	if groups := s.Expire(start.Add(Lifetime + 1)); len(groups) != 0 {
		t.Errorf("groups %v", groups)
	}
	s.want(s.sees(at(2, 5, 1)), "", 0)
}

func TestTheOldestRequestOfTheMemberWithTheMostIsDropped(t *testing.T) {
	s := &story{t: t}
	s.update("alice", at(1, 2, 1), at(2, 5, 1))
	flood := from("mallory")
	flood.Member = "team-b"
	for i := range 3 * MaxPending {
		r, _ := Update(flood, at(1, 2, 1), at(2, int32(10+i), 1))
		s.Add(r)
	}
	s.open(MaxPending)
	s.want(s.sees(at(2, 5, 1)), "alice", 2)
	s.want(s.See(Group{"team-b", "shop", "web"}, SeenOf(at(2, 3*MaxPending+9, 1))), "mallory", 2)
}
