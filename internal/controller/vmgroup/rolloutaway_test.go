package vmgroup

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// A member's API server does not answer for a while, at any moment of an update. Caches still show their last state.
func TestAnUpdateWaitsForItsMember(t *testing.T) {
	for story, edit := range map[string]func(*v1alpha1.VmGroupSpec){"VMs are replaced": withTemplate("debian-13"), "VMs are restarted": larger} {
		for at := range 20 {
			t.Run(fmt.Sprintf("%s, after %d passes", story, at), func(t *testing.T) {
				r := rolls(t, 2)
				old := r.group().Status.UpdateRevision
				r.edit(edit)
				for range at {
					r.mustPass()
					r.vcenter.Finish(-1)
					r.now = r.now.Add(2 * time.Second)
				}
				r.vcenter.ClearJournal()
				asked := false
				r.onStatus = func() error {
					asked = true
					return apierrors.NewTimeoutError("the member is unreachable", 1)
				}
				for range 4 {
					if _, err := r.pass(); asked && err == nil {
						t.Error("the pass does not say that nothing could be recorded")
					}
					asked = false
					r.now = r.now.Add(5 * time.Minute)
				}
				if calls := r.vcenter.Journal(); len(calls) > 0 {
					t.Fatalf("meanwhile vCenter was asked %v", calls)
				}
				r.onStatus = nil
				if r.watched(60, nil); len(r.are(old)) > 0 || len(r.vcenter.VMs()) != 2 {
					t.Errorf("in the end %v of %d VMs are of the old revision", r.are(old), len(r.vcenter.VMs()))
				}
			})
		}
	}
}
