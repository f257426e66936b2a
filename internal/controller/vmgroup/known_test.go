package vmgroup

import (
	"context"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// unlisted is a client whose lists fail.
type unlisted struct {
	client.Client
	err error
}

func (u unlisted) List(context.Context, client.ObjectList, ...client.ListOption) error { return u.err }

func TestAMemberWhoseGroupsCannotBeListedIsNotEngaged(t *testing.T) {
	r, why := newRig(t), errors.New("the cache was stopped")
	failing := testCluster{client: unlisted{r.member, why}}
	if err := (known{r.Groups, r.Members}).Engage(t.Context(), v1alpha1.LocalMember, failing); !errors.Is(err, why) {
		t.Errorf("the error is %v: nobody learns that the member's quotas are not known", err)
	}
	if r.Groups.listed(v1alpha1.LocalMember) {
		t.Error("its groups are said to be known")
	}
	if err := (known{r.Groups, r.Members}).Engage(t.Context(), v1alpha1.LocalMember, testCluster{client: r.member}); err != nil {
		t.Fatal(err)
	}
	if !r.Groups.listed(v1alpha1.LocalMember) {
		t.Error("its groups are not known although they were listed")
	}
}
