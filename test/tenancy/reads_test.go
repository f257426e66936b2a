//go:build unix

package tenancy

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/hostileapi"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// endlessLists answers each list of VmGroups with a page of small ones, always followed by another one. It counts
// the pages.
type endlessLists struct{ pages atomic.Int64 }

func (l *endlessLists) attack(call localcluster.APICall) http.HandlerFunc {
	if call.Resource != groups || call.Verb != "list" {
		return nil
	}
	if call.Limit != "1" { // the operator reads the revision of the storage this way
		l.pages.Add(1)
	}
	begin := `{"kind":"VmGroupList","apiVersion":"vm.codeconnect.vmworld.com/v1alpha1","metadata":{"resourceVersion":"7","continue":"more"},"items":[{}`
	return hostileapi.Endless(begin, 600<<10, func(int) string {
		return fmt.Sprintf(`,{"metadata":{"uid":"%s"}}`, uuid.NewUUID())
	}, `]}`)
}

// released creates a group with a VM, and deletes it so that the VM stays. It returns its UID.
func (a *attacker) released(name string) types.UID {
	a.t.Helper()
	a.apply(name, 1, false)
	old := a.untilRunning("at first", name, 1).UID
	a.patch(name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.ReleaseAnnotation, old))
	a.delete(name)
	a.untilGone(name)
	return old
}

// says reports whether an invented group has a condition for a reason.
func says(o hostileapi.Object, conditionType, reason string) bool {
	status, _ := o["status"].(hostileapi.Object)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if c, ok := c.(hostileapi.Object); ok && c["type"] == conditionType && c["reason"] == reason {
			return true
		}
	}
	return false
}

// TestAnAdoptionIsAnsweredThoughTheListsOfItsMemberNeverEnd: a hostile API server can make the operator ask for any
// UID. The operator reads no list for it.
func TestAnAdoptionIsAnsweredThoughTheListsOfItsMemberNeverEnd(t *testing.T) {
	w := shared.enter(t)
	defer w.isSmall(t)
	a := newAttacker(t, w, "lister", fresh("lister")).joined()
	old := a.released("old")
	lists := &endlessLists{}
	a.Attack(lists.attack)
	for name, c := range map[string]struct{ from, condition, reason string }{
		"any":  {string(uuid.NewUUID()), v1alpha1.ConditionStalled, v1alpha1.ReasonAdoptionRefused},
		"heir": {string(old), v1alpha1.ConditionAdopted, v1alpha1.ReasonAdopting},
	} {
		o := a.invention(name, uuid.NewUUID(), 1)
		hostileapi.Set(o, map[string]any{v1alpha1.AdoptAnnotation: c.from}, "metadata", "annotations")
		a.Invent(groups, o)
		a.untilInvented(fmt.Sprintf("%s for %s", c.condition, c.reason), name, func(o hostileapi.Object) bool { return says(o, c.condition, c.reason) })
	}
	if n := lists.pages.Load(); n > 0 {
		t.Errorf("the operator read %d pages of lists", n)
	}
}
