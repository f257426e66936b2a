//go:build unix && slow

package massdeletion

import (
	"context"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// TestTwentyOfAHundredAndFiftyGroupsGoUnasked is a large but intended change: it needs no confirmation. Then their
// member is pruned on the hub, which destroys nothing.
func TestTwentyOfAHundredAndFiftyGroupsGoUnasked(t *testing.T) {
	stack.Story(t)
	shared.Enter(t)
	p := newPlace(t, trimmed, "shop")
	before := p.fill(150, 1)
	gone := names(0, 20)
	p.goes(gone)
	left := without(before, gone)
	p.untilSame(left)

	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: trimmed}}
	if err := shared.Hub.Delete(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
	await.NoError(t, "the member to have left", func() error {
		if err := shared.Hub.Get(t.Context(), client.ObjectKeyFromObject(mc), mc); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %+v (%w)", mc.Status.Conditions, err)
		}
		return nil
	})
	p.same(left)
}

func TestOneGroupOf500VMsGoesUnasked(t *testing.T) {
	stack.Story(t)
	shared.Enter(t)
	p := newPlace(t, single, "shop")
	p.fill(1, 500)
	p.goes(names(0, 1))
	p.untilSame(nil)
}

// TestAMemberOfTestsMayDeleteAllThatItMadeWithinTheHour simulates the groups of a CI system, on a hub with the default
// guard for groups older than an hour.
func TestAMemberOfTestsMayDeleteAllThatItMadeWithinTheHour(t *testing.T) {
	stack.Story(t)
	shared.Enter(t)
	hub, err := shared.StartHub(t.Context(), "ci")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hub.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := hub.AddVCenter(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	if err := hub.Hub.Create(t.Context(), &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LocalMember}}); err != nil {
		t.Fatal(err)
	}
	shared.Members[v1alpha1.LocalMember] = hub.Hub
	p := newPlace(t, v1alpha1.LocalMember, "ci")
	p.root = "/DC0/vm/ci"
	p.fill(40, 1)
	p.delete(names(0, 40))
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	if err := await.Condition(ctx, "all groups to go, and none to wait", func(ctx context.Context) (bool, error) {
		var list v1alpha1.VmGroupList
		if err := p.cluster.List(ctx, &list, client.InNamespace(p.namespace)); err != nil {
			return false, err
		}
		for i := range list.Items {
			if c := meta.FindStatusCondition(list.Items[i].Status.Conditions, v1alpha1.ConditionRemoving); c != nil && c.Reason != v1alpha1.ReasonDeleting {
				t.Fatalf("%s waits: %s", list.Items[i].Name, words(&list.Items[i]))
			}
		}
		return len(list.Items) == 0, nil
	}); err != nil {
		t.Fatal(err)
	}
	p.untilSame(nil)
}

// goes deletes groups and checks that none of them is held. It logs how long they were kept.
func (p *place) goes(groups []string) {
	p.t.Helper()
	p.delete(groups)
	deleted := time.Now()
	var began, ended time.Time
	vms := len(p.vms())
	await.NoError(p.t, "the groups to go", func() error {
		var list v1alpha1.VmGroupList
		if err := p.cluster.List(p.t.Context(), &list, client.InNamespace(p.namespace)); err != nil {
			return err
		}
		left := 0
		for i := range list.Items {
			g := &list.Items[i]
			if g.DeletionTimestamp == nil {
				continue
			}
			left++
			c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionRemoving)
			switch {
			case c == nil:
			case c.Reason == v1alpha1.ReasonMassDeletion:
				p.t.Fatalf("%s is held: %s", g.Name, words(g))
			case c.Reason == v1alpha1.ReasonDeleting && began.IsZero():
				began = time.Now()
			}
		}
		if left > 0 {
			return fmt.Errorf("%d are left", left)
		}
		ended = time.Now()
		return nil
	})
	p.t.Logf("%d groups with %d VMs in the namespace: the first VM was removed %s after the deletion, the last group %s after it",
		len(groups), vms, began.Sub(deleted).Round(100*time.Millisecond), ended.Sub(deleted).Round(100*time.Millisecond))
}
