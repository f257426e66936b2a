package inventory

import (
	"reflect"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// TestEveryChangeUpdatesTheCounts: no pass and no scrape of metrics walks all VMs while others wait for the lock.
func TestEveryChangeUpdatesTheCounts(t *testing.T) {
	stamps := map[string]func(*vsphere.VM){
		"ours": func(*vsphere.VM) {},
		"foreign": func(vm *vsphere.VM) {
			vm.Stamp = &vsphere.Stamp{GroupID: vsphere.GroupID{Installation: "other", Member: "m", Group: "g"}}
		},
		"none":     func(vm *vsphere.VM) { vm.Stamp = nil },
		"released": func(vm *vsphere.VM) { vm.Stamp, vm.Released = nil, &vsphere.ReleaseMark{GroupID: groupID} },
	}
	outside := vsphere.FolderRef("group-out")
	rapid.Check(t, func(r *rapid.T) {
		x, _ := newIndex(0)
		began := []Moment{x.Begin()}
		some := func() (seen []Seen) {
			for i := range 4 {
				if !rapid.Bool().Draw(r, "there") {
					continue
				}
				s := with(vm(i, groupID), stamps[rapid.SampledFrom([]string{"ours", "foreign", "none", "released"}).Draw(r, "stamp")])
				s.ChangeVersion = strconv.Itoa(rapid.IntRange(1, 3).Draw(r, "version"))
				s.Unread = rapid.IntRange(0, 4).Draw(r, "unread") == 0
				seen = append(seen, s)
			}
			return seen
		}
		at := func() Moment { return rapid.SampledFrom(began).Draw(r, "began") }
		one := func() vsphere.Ref {
			return rapid.SampledFrom([]vsphere.Ref{vm(0, groupID).Ref, vm(1, groupID).Ref, vm(2, groupID).Ref, vm(3, groupID).Ref, folder.Ref}).Draw(r, "object")
		}
		folders := func() []vsphere.Folder {
			return []vsphere.Folder{folder}[rapid.IntRange(0, 1).Draw(r, "no folder"):]
		}
		r.Repeat(map[string]func(*rapid.T){
			"begin":   func(*rapid.T) { began = append(began, x.Begin()) },
			"list":    func(*rapid.T) { x.ApplyListing(at(), some(), folders()) },
			"stream":  func(*rapid.T) { x.ApplyStream(at(), some(), folders()) },
			"look up": func(*rapid.T) { x.Upsert(at(), some(), folders()) },
			"show": func(*rapid.T) {
				for _, s := range some() {
					x.Show([]vsphere.VM{s.VM})
				}
			},
			"leave":   func(*rapid.T) { x.Left(one()) },
			"miss":    func(*rapid.T) { x.Missed(at(), one()) },
			"destroy": func(*rapid.T) { x.Confirm(at(), one(), Gone) },
			"move out": func(*rapid.T) {
				for _, s := range some() {
					x.ConfirmElsewhere(at(), Outside{Seen: with(s, func(vm *vsphere.VM) { vm.Folder = outside })})
				}
			},
			"": func(r *rapid.T) {
				want := newCounts()
				for ref, e := range x.vms {
					want.await(ref, e.state)
					if x.ours(e) && (e.state == Present || e.state == Suspect) {
						want.stamped++
						want.owned[e.vm.Stamp.Key()]++
						if e.state == Present {
							want.here++
						}
					}
				}
				for ref, e := range x.folders {
					want.await(ref, e.state)
				}
				if !reflect.DeepEqual(x.counts, want) {
					r.Fatalf("counts are %+v, and a scan of the index finds %+v", x.counts, want)
				}
				if n := x.Stamped(); n != want.stamped {
					r.Fatalf("%d VMs are reported, want %d", n, want.stamped)
				}
				if owned := len(x.Owned(x.OwnedGroups()...)); owned != want.stamped {
					r.Fatalf("%d VMs are owned, want %d", owned, want.stamped)
				}
			},
		})
	})
}

// BenchmarkStampedOf50000VMs is what each pass asks of an inventory of any size.
func BenchmarkStampedOf50000VMs(b *testing.B) {
	x, _ := newIndex(0)
	all := make([]Seen, 0, 50000)
	for i := range 50000 {
		all = append(all, vm(i, groupID))
	}
	x.list(all...)
	for b.Loop() {
		x.Stamped()
	}
}

// While a listing of 50,000 VMs is applied, the lock is held for about a tenth of a second.
func TestPassesLearnOfTheWholeIndexWhileAListingIsApplied(t *testing.T) {
	x, _ := newIndex(0)
	x.list(vm(0, groupID), vm(1, groupID))
	x.mu.Lock()
	defer x.mu.Unlock()
	if complete, why := x.Complete(); !complete || x.Stamped() != 2 || x.SuddenlyEmpty() || x.Applied() == 0 {
		t.Errorf("complete %t (%s), %d VMs, suddenly empty %t, applied at %d", complete, why, x.Stamped(), x.SuddenlyEmpty(), x.Applied())
	}
}
