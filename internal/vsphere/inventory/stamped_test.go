package inventory

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// TestTheNumberOfStampedVMsIsThatOfTheVMsThatCount: each change updates the number, because a
// scrape of metrics must not walk all VMs while passes wait.
func TestTheNumberOfStampedVMsIsThatOfTheVMsThatCount(t *testing.T) {
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
		one := func() vsphere.Ref { return vm(rapid.IntRange(0, 3).Draw(r, "VM"), groupID).Ref }
		r.Repeat(map[string]func(*rapid.T){
			"begin":   func(*rapid.T) { began = append(began, x.Begin()) },
			"list":    func(*rapid.T) { x.ApplyListing(at(), some(), []vsphere.Folder{folder}) },
			"stream":  func(*rapid.T) { x.ApplyStream(at(), some(), []vsphere.Folder{folder}) },
			"look up": func(*rapid.T) { x.Upsert(at(), some(), nil) },
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
				if got, want := x.Stamped(), len(x.Owned()); got != want {
					r.Fatalf("%d VMs are counted, and there are %d", got, want)
				}
			},
		})
	})
}

// BenchmarkStampedOf50000VMs is the cost of the number, during which the lock of the index is held.
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
