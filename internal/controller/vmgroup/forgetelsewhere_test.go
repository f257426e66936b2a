package vmgroup

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
)

// A VCenter whose inventory is unknown can have the group's VMs, even if it shows none.
func TestAGroupIsNotForgottenWhileTheInventoryOfAnotherVCenterIsNotKnown(t *testing.T) {
	toOthers := []v1alpha1.Grant{{MemberClusters: []string{"another"}}}
	for story, c := range map[string]struct {
		grants []v1alpha1.Grant
		// names is the text about the other VCenter, and ends a function that ends the wait.
		names string
		ends  func(g *grave, server *fake.Server, other *v1alpha1.VCenter)
	}{
		"until it responds": {nil, `VCenter "other"`, func(_ *grave, server *fake.Server, _ *v1alpha1.VCenter) { server.Reconnect() }},
		"until it is deleted": {toOthers, "another VCenter, which this group may not use,", func(g *grave, _ *fake.Server, other *v1alpha1.VCenter) {
			if err := g.hub.Delete(g.t.Context(), other); err != nil {
				g.t.Fatal(err)
			}
		}},
		"until it counts as gone for good": {nil, `VCenter "other"`, func(g *grave, _ *fake.Server, other *v1alpha1.VCenter) {
			until := g.now.Add(time.Hour).Truncate(time.Second)
			g.unreachable(other, until.Add(-group.ForgetAfter))
			contains(g.t, g.stays(v1alpha1.ReasonForgetHeld), "it counts as gone for good at "+until.UTC().Format(time.RFC3339))
			g.now = until
			g.allow(g.now.Add(30 * time.Minute))
		}},
	} {
		t.Run(story, func(t *testing.T) {
			g := newGrave(t)
			g.unreachableSince(g.now.Add(-group.ForgetAfter))
			g.allow(g.now.Add(30 * time.Minute))
			g.annotate(v1alpha1.ForgetAnnotation, string(g.group().UID))
			server := fake.New(fake.Options{Now: func() time.Time { return g.now }})
			server.Disconnect(nil)
			g.Servers = fake.Servers{"default": g.vcenter, "other": server}
			other := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: v1alpha1.VCenterSpec{Grants: c.grants}}
			if err := g.hub.Create(t.Context(), other); err != nil {
				t.Fatal(err)
			}
			g.delete()
			contains(t, g.stays(v1alpha1.ReasonForgetHeld), "the inventory of "+c.names+" is not known")
			c.ends(g, server, other)
			g.forgotten()
		})
	}
}
