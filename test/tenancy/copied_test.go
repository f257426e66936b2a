//go:build unix

package tenancy

import (
	"fmt"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/hostileapi"
)

// TestAGroupThatIsListedUnderAnothersUIDHarmsNobody: the attacker lists a group with the UID and the status of the
// victim's. It wants no VMs, and then it is being deleted.
func TestAGroupThatIsListedUnderAnothersUIDHarmsNobody(t *testing.T) {
	w := shared.enter(t)
	for name, attack := range map[string]struct {
		anotherName bool
		// version that the copy has in the attacker's API server.
		version string
		// restless copies make the operator write to them repeatedly.
		restless bool
	}{
		"by the same name":                {},
		"by another name":                 {anotherName: true},
		"with versions of the far future": {version: "9000000000000000000", restless: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t, w, "copied")
			a := newAttacker(t, w, "copier", g.namespace).joined()
			copied, secrets := g.name, []string{}
			if attack.anotherName {
				copied, secrets = "another", []string{g.name}
			}
			defer a.toldNothingOf(g, secrets...)
			o := g.copied(copied)
			hostileapi.Set(o, attack.version, "metadata", "resourceVersion")
			a.Invent(groups, o)
			a.heard()
			a.untilTold("SharedGroupUID", g.namespace+"/"+copied, g.namespace+"/"+g.name, `of member "`+victim+`"`)
			stop := func() {}
			if attack.restless {
				stop = a.restless(copied)
			}
			g.served("while the copy asks for no VMs")
			stop()
			a.untilInvented("the operator to look after it", copied, isOurs)

			a.Change(groups, a.namespace, copied, func(o hostileapi.Object) {
				hostileapi.Set(o, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
				hostileapi.Set(o, []any{v1alpha1.VmGroupFinalizer}, "metadata", "finalizers")
				hostileapi.Set(o, g.copied(copied)["status"], "status")
			})
			a.heard()
			g.untouched("while the copy is being deleted")
			a.untilInvented("it to be gone", copied, func(o hostileapi.Object) bool { return o == nil })
			g.served("after the copy is deleted")
		})
	}
}

// copied is the group under another name and without VMs. It has no finalizers yet, and contains none of the victim's
// secrets in clear text: any later ones are the operator's text.
func (g *guarded) copied(name string) hostileapi.Object {
	g.t.Helper()
	is := g.get(g.name)
	is.Name, is.Generation, is.ManagedFields, is.Finalizers, is.Status.Conditions = name, is.Generation+1, nil, nil, nil
	is.Spec.Replicas = new(int32)
	for i := range is.Status.VMs {
		is.Status.VMs[i].Name = fmt.Sprintf("%s-%d", name, is.Status.VMs[i].Ordinal)
	}
	return hostileapi.ObjectOf(is)
}
