package fleet

import (
	"fmt"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/growth"
)

// aNewGroup is a group that comes and goes, in a fleet of members with a hundred groups each.
func aNewGroup(_ testing.TB, groups int) func() {
	f := newFleet()
	for i := range groups {
		member := fmt.Sprint("member-", i/100)
		f.SetGroup(Ref{member, "n", fmt.Sprint("g-", i)}, vsphere.KeyOf("uid-"+member, fmt.Sprintf("%08x-1", i)), groupFor("", 5), "vc")
	}
	ref, of := Ref{"member-0", "n", "new"}, groupFor("new", 5)
	return func() {
		f.SetGroup(ref, "uid-member-0/ffffffff-1", of, "vc")
		f.DeleteGroup(ref)
	}
}

func BenchmarkGrowthOfANewGroup(b *testing.B)             { growth.Benchmark(b, aNewGroup, 200, 2000, 20000) }
func TestANewGroupCostsTheSameInALargeFleet(t *testing.T) { growth.Flat(t, aNewGroup, 200, 20000) }
