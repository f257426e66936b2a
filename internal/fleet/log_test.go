package fleet

import (
	"slices"
	"testing"

	"k8s.io/utils/clock"

	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// seventh has each group in bucket 7, and holds those of one namespace.
type seventh struct{}

func (seventh) Bucket(sharding.Key) int { return 7 }
func (seventh) Holds(k sharding.Key) bool {
	return k == sharding.Key{ClusterUID: "m-uid", Namespace: "held", Name: "web"}
}

func TestAReplicaHoldsNoGroupOfAMemberThatIsNotEngaged(t *testing.T) {
	f := New(clock.RealClock{}, massdeletion.DefaultRules(), seventh{})
	f.SetMember(Member{Name: "m", UID: "m-uid", State: Engaged})
	for _, c := range []struct {
		ref    Ref
		holds  bool
		values []any
	}{
		{Ref{"m", "held", "web"}, true, []any{"member", "m", "namespace", "held", "name", "web", "bucket", 7}},
		{Ref{"m", "other", "web"}, false, []any{"member", "m", "namespace", "other", "name", "web", "bucket", 7}},
		{Ref{"away", "held", "web"}, false, []any{"member", "away", "namespace", "held", "name", "web", "bucket", -1}},
	} {
		if holds := f.Holds(c.ref); holds != c.holds {
			t.Errorf("%s: held %v", c.ref, holds)
		}
		if values := f.LogValues(c.ref); !slices.Equal(values, c.values) {
			t.Errorf("%s: lines have %v", c.ref, values)
		}
	}
}
