package operations

import (
	"errors"
	"fmt"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// nobody ignores notifications.
type nobody struct{}

func (nobody) GroupChanged(vsphere.GroupKey) {}

// BenchmarkAPassBesideOthers is the queries of a group's pass, next to others with guests that shut
// down and failed clones.
func BenchmarkAPassBesideOthers(b *testing.B) {
	for _, others := range []int{1000, 5000} {
		b.Run(fmt.Sprint(others), func(b *testing.B) {
			c := &clock{}
			t := New(c.now, nobody{})
			for i := range others {
				for _, r := range []Request{{Kind: vsphere.OpShutdownGuest}, {Kind: vsphere.OpClone}} {
					r.Key = Key{vsphere.GroupKey(fmt.Sprint(r.Kind, i)), 0}
					h, err := t.Begin(r)
					if err != nil {
						b.Fatal(err)
					}
					if r.Kind == vsphere.OpClone {
						h.Failed(errors.New("no such template"))
					} else {
						h.Finished(1)
					}
				}
			}
			for b.Loop() {
				t.Claimed("g", nil)
				t.InFlight("g")
				t.Cloning("g")
				t.Failures("g")
			}
		})
	}
}
