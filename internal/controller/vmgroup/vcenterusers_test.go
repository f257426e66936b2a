package vmgroup

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Any tenant can name any vCenter. Only groups with a grant, or with VMs or a folder in it, block its
// deletion.
func TestAGroupHoldsTheDeletionOfAVCenterOnlyIfItCanUseIt(t *testing.T) {
	granted := []v1alpha1.Grant{{MemberClusters: []string{v1alpha1.LocalMember}}}
	others := []v1alpha1.Grant{{MemberClusters: []string{"another"}}}
	for story, c := range map[string]struct {
		grants      []v1alpha1.Grant
		change      func(*rig)
		want, acted int
	}{
		"it is granted":                {granted, func(*rig) {}, 1, 0},
		"the vCenter is the hub's own": {nil, func(*rig) {}, 1, 0},
		"it names it without a grant":  {others, func(*rig) {}, 0, 0},
		"it had a grant, and has VMs":  {others, func(r *rig) { r.settle(); r.records.Lose() }, 1, 1},
		"it had a grant, and status was lost": {others, func(r *rig) {
			r.settle()
			r.setStatus(func(g *v1alpha1.VmGroup) { g.Status = v1alpha1.VmGroupStatus{} })
		}, 1, 1},
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			c.change(r)
			r.inform(r.Reconciler)
			if n := r.CountVCenter(t.Context(), "default", c.grants); n != c.want {
				t.Errorf("%d groups hold it, want %d", n, c.want)
			}
			// A VCenter that is being deleted is in use by groups with VMs or a record only.
			if n, want := r.CountActed("default"), c.acted; n != want {
				t.Errorf("%d groups hold it while it is being deleted, want %d", n, want)
			}
		})
	}
}
