package vmgroup

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// unlistedNamespaces is a client whose lists of namespaces fail.
type unlistedNamespaces struct {
	client.Client
	err error
}

func (u unlistedNamespaces) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, namespaces := list.(*metav1.PartialObjectMetadataList); namespaces {
		return u.err
	}
	return u.Client.List(ctx, list, opts...)
}

// A user who can write to a member's API server can confirm 100,000 namespaces, and have others the next time.
func TestConfirmationsOfNamespacesAreThoseThatTheMemberHasNow(t *testing.T) {
	h, uids := newHerd(t, 11, 1), 0
	h.confirmNamespace("uid-of-shop")
	engage := func(c client.Client) error {
		return h.feed.Engage(t.Context(), v1alpha1.LocalMember, testCluster{client: c})
	}
	for range 3 {
		const more = 20
		made := make([]client.Object, 0, more)
		for range more {
			uids++
			uid := fmt.Sprint("uid-", uids)
			made = append(made, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprint("n-", uids), UID: types.UID(uid), Annotations: map[string]string{v1alpha1.ConfirmDeletionAnnotation: uid},
			}})
			if err := h.member.Create(t.Context(), made[len(made)-1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := engage(h.member); err != nil {
			t.Fatal(err)
		}
		for _, n := range made {
			if err := h.member.Delete(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
	}

	h.delete(h.names...)
	h.hear()
	another := massdeletion.Group{Created: noon, Existing: 1}
	trips := func() bool {
		return h.Fleet.Trips(v1alpha1.LocalMember, vsphere.KeyOf("member-uid", "another"), another, massdeletion.Limit{})
	}
	if trips() {
		t.Error("what is confirmed counts after the member was engaged anew")
	}
	why := errors.New("the cache was stopped")
	if err := engage(unlistedNamespaces{h.member, why}); !errors.Is(err, why) {
		t.Errorf("Engage does not return the error of the failed list of namespaces: %v", err)
	}
	if trips() {
		t.Error("a confirmation is forgotten because namespaces could not be listed")
	}
	h.takeBack()
	if err := engage(h.member); err != nil {
		t.Fatal(err)
	}
	if !trips() {
		t.Error("a confirmation still counts that was removed while the member was unreachable")
	}
	if h.confirmNamespace("uid-of-shop"); trips() {
		t.Error("what is confirmed after the member was engaged anew counts")
	}
}

// takeBack removes the confirmation of the namespace, without an event.
func (h *herd) takeBack() {
	h.t.Helper()
	namespace := &corev1.Namespace{}
	if err := h.member.Get(h.t.Context(), types.NamespacedName{Name: "shop"}, namespace); err != nil {
		h.t.Fatal(err)
	}
	delete(namespace.Annotations, v1alpha1.ConfirmDeletionAnnotation)
	if err := h.member.Update(h.t.Context(), namespace); err != nil {
		h.t.Fatal(err)
	}
}
