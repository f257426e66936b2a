package vmgroup

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// TestAGroupThatOnlyTheAPIServerHasKeepsItsVMs: the member was restored a moment ago, and the cache does not show that yet.
func TestAGroupThatOnlyTheAPIServerHasKeepsItsVMs(t *testing.T) {
	for name, receipt := range map[string]bool{"by the name in the receipt": true, "by the name of the folder": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.edit(func(s *v1alpha1.VmGroupSpec) { s.DeletionPolicy = v1alpha1.DeletionRetain })
			var old types.UID
			if receipt {
				old, _ = r.released()
			} else {
				old = r.retained()
			}
			r.heir(heirUID, string(old), 2)
			back := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: old}}
			if err := r.member.Create(t.Context(), back); err != nil {
				t.Fatal(err)
			}
			r.rounds(3)
			r.asksNothing()
			says(t, r.group(), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonAdoptionRefused)
			if message := r.condition(v1alpha1.ConditionStalled).Message; !strings.Contains(message, "VmGroup web (UID "+string(old)+") exists") {
				t.Error(message)
			}
		})
	}
}

// retained settles the group, and deletes it with deletionPolicy Retain. It returns its UID.
func (r *rig) retained() types.UID {
	r.t.Helper()
	old := r.settle().UID
	r.delete()
	if r.rounds(4); !r.gone() {
		r.t.Fatalf("the group stays: %s", words(r.group().Status.Conditions))
	}
	return old
}

// TestAGroupThatClaimsWhileAnotherLooksKeepsItsClaim: it was created and has claimed the VMs right before the other one reads
// the receipt. The cache does not have it yet.
func TestAGroupThatClaimsWhileAnotherLooksKeepsItsClaim(t *testing.T) {
	r := newRig(t)
	old, _ := r.released()
	r.heir(heirUID, string(old), 2)
	first := receipts.Adopter{MemberUID: "member-uid", Namespace: "team", Group: "first", GroupUID: "0a1b2c3d-0000-4000-8000-00000000f125"}
	key, store := vsphere.KeyOf("member-uid", string(old)), r.Receipts
	left := r.receipt(key)
	r.Receipts = readAfter{store, func() {
		g := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace, Name: first.Group, UID: types.UID(first.GroupUID)}}
		if err := r.member.Create(t.Context(), g); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
		if _, err := store.Claim(t.Context(), key, *left, first); err != nil {
			t.Fatal(err)
		}
	}}
	r.equipped()
	r.rounds(3)
	r.asksNothing()
	if by := r.receipt(key).AdoptedBy; by == nil || *by != first {
		t.Errorf("the claim is of %+v", by)
	}
	says(t, r.group(), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonAdoptionRefused)
}

// readAfter runs a function before each read of a receipt.
type readAfter struct {
	receipts.Store
	before func()
}

func (s readAfter) Read(ctx context.Context, key receipts.Key) (*receipts.Receipt, error) {
	s.before()
	return s.Store.Read(ctx, key)
}

// TestAnAdoptionReadsAFewObjectsOfTheMemberAndNoList: a list has any length, and every user who can annotate a group can cause the reads.
func TestAnAdoptionReadsAFewObjectsOfTheMemberAndNoList(t *testing.T) {
	for name, c := range map[string]struct {
		from func(r *rig) string
		most int
	}{
		"of a UID that nothing has": {func(*rig) string { return "6d1b1c5e-0000-4000-8000-0000000000ff" }, 0},
		"of a living group":         {func(r *rig) string { r.inform(r.Reconciler); return string(r.group().UID) }, 0},
		"of a deleted group":        {func(r *rig) string { old, _ := r.released(); return string(old) }, 1},
		"claimed by another deleted group": {func(r *rig) string {
			old, _ := r.released()
			by := receipts.Adopter{MemberUID: "member-uid", Namespace: "team", Group: "another", GroupUID: "gone"}
			key := vsphere.KeyOf("member-uid", string(old))
			if _, err := r.Receipts.Claim(r.t.Context(), key, *r.receipt(key), by); err != nil {
				r.t.Fatal(err)
			}
			return string(old)
		}, 2},
		"claimed by another that lives": {func(r *rig) string {
			old, _ := r.released()
			by := receipts.Adopter{MemberUID: "member-uid", Namespace: "team", Group: "another", GroupUID: "lives"}
			another := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: by.Namespace, Name: by.Group, UID: types.UID(by.GroupUID)}}
			if err := r.member.Create(r.t.Context(), another); err != nil {
				r.t.Fatal(err)
			}
			key := vsphere.KeyOf("member-uid", string(old))
			if _, err := r.Receipts.Claim(r.t.Context(), key, *r.receipt(key), by); err != nil {
				r.t.Fatal(err)
			}
			return string(old)
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			from := c.from(r)
			reads := &countsReads{Reader: r.member}
			r.Clusters = testCluster{client: r.member, live: reads}
			r.heir(heirUID, from, 2)
			for range 10 {
				r.mustPass()
				r.now = r.now.Add(time.Second)
			}
			if reads.lists != 0 || reads.gets > c.most || reads.unbounded != 0 {
				t.Errorf("in ten seconds the member was asked for %d lists and %d objects, want no list and at most %d; %d reads had no deadline", reads.lists, reads.gets, c.most, reads.unbounded)
			}
		})
	}
}

// countsReads counts reads of an API server, and those that have no deadline.
type countsReads struct {
	client.Reader
	lists, gets, unbounded int
}

func (c *countsReads) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.lists++
	return c.Reader.List(ctx, list, opts...)
}

func (c *countsReads) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	c.gets++
	if _, bounded := ctx.Deadline(); !bounded {
		c.unbounded++
	}
	return c.Reader.Get(ctx, key, o, opts...)
}

// TestNotFoundOfAServerThatHasNoVmGroupsIsNotCertain: the CRD is missing, or a proxy answers.
func TestNotFoundOfAServerThatHasNoVmGroupsIsNotCertain(t *testing.T) {
	r := newRig(t)
	old, vms := r.released()
	r.heir(heirUID, string(old), 2)
	r.Clusters = testCluster{client: r.member, live: pageNotFound{r.member}}
	if _, err := r.pass(); err == nil {
		t.Error("the pass treats the group as deleted")
	}
	r.asksNothing()
	r.Clusters = testCluster{client: r.member}
	r.settle()
	r.took(vms)
}

// pageNotFound answers like an HTTP server that does not serve VmGroups.
type pageNotFound struct{ client.Reader }

func (pageNotFound) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "get", v1alpha1.Resource("vmgroups"), key.Name, "404 page not found", 0, true)
}
