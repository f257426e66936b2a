package inventory

import (
	"strconv"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/growth"
)

// large returns an index with groups of five VMs.
func large(vms int) *Index {
	x, _ := newIndex(0)
	seen := make([]Seen, vms)
	for i := range seen {
		seen[i] = vm(i, vsphere.GroupID{Installation: "inst", Member: "m", Group: "g-" + strconv.Itoa(i/5)})
	}
	x.list(seen...)
	return x
}

// anEvent is what an event of one VM costs: its application, and what is asked after each.
func anEvent(_ testing.TB, vms int) func() {
	x := large(vms)
	changed, _ := x.VM(vsphere.VMRef("vm-7"))
	return func() {
		if changed.Power == vsphere.PoweredOn {
			changed.Power = vsphere.PoweredOff
		} else {
			changed.Power = vsphere.PoweredOn
		}
		x.Show([]vsphere.VM{changed})
		x.Suspects()
		x.Complete()
		x.Stamped()
	}
}

// aSearch is what a search for orphans asks.
func aSearch(_ testing.TB, vms int) func() {
	x := large(vms)
	return func() { x.Owned(x.OwnedGroups()[0]) }
}

func BenchmarkGrowthOfAnEvent(b *testing.B)                { growth.Benchmark(b, anEvent, 500, 5000, 50000) }
func BenchmarkGrowthOfASearch(b *testing.B)                { growth.Benchmark(b, aSearch, 500, 5000, 50000) }
func TestAnEventCostsTheSameInALargeVCenter(t *testing.T)  { growth.Flat(t, anEvent, 500, 20000) }
func TestASearchForOrphansClonesNoVMOfAGroup(t *testing.T) { growth.Flat(t, aSearch, 500, 20000) }
