package govmomi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// book returns a listing of three objects page by page, each once, and loses some of the responses.
type book struct {
	// lose contains the numbers of calls whose responses are lost, from 1.
	lose  map[int]bool
	calls int
	// refuse is the response to every page but the first, if it is set.
	refuse *soap.Fault
	// page is the next page.
	page int
}

func (b *book) RoundTrip(_ context.Context, _, res soap.HasFault) error {
	b.calls++
	if _, first := res.(*methods.RetrievePropertiesExBody); first {
		b.page = 0
	}
	result := types.RetrieveResult{Objects: []types.ObjectContent{{
		Obj: types.ManagedObjectReference{Type: "VirtualMachine", Value: fmt.Sprintf("vm-%d", b.page)},
	}}}
	if b.page++; b.page < 3 {
		result.Token = fmt.Sprint(b.page)
	}
	if b.lose[b.calls] {
		return io.ErrUnexpectedEOF
	}
	switch body := res.(type) {
	case *methods.RetrievePropertiesExBody:
		body.Res = &types.RetrievePropertiesExResponse{Returnval: &result}
	case *methods.ContinueRetrievePropertiesExBody:
		if b.refuse != nil {
			return soap.WrapSoapFault(b.refuse)
		}
		body.Res = &types.ContinueRetrievePropertiesExResponse{Returnval: result}
	}
	return nil
}

func TestAListingOfWhichAPageWasLostIsReadAnewAndHasNoGap(t *testing.T) {
	for _, test := range []struct {
		name  string
		lose  []int
		calls int
		ok    bool
	}{
		{"nothing is lost", nil, 3, true},
		{"the second page", []int{2}, 5, true},
		{"the last page, twice", []int{3, 6}, 9, true},
		{"the first page, which the session repeats", []int{1}, 1, false},
		{"a page of every listing", []int{2, 4, 6, 8, 10, 12}, 12, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &book{lose: map[int]bool{}}
				for _, n := range test.lose {
					b.lose[n] = true
				}
				got, err := retrieve(t.Context(), &vim25.Client{RoundTripper: b}, types.PropertyFilterSpec{})
				if (err == nil) != test.ok || b.calls != test.calls {
					t.Fatalf("%d calls, error %v; want %d", b.calls, err, test.calls)
				}
				for i, o := range got {
					if want := fmt.Sprintf("vm-%d", i); o.ref.Value != want {
						t.Errorf("object %d is %s", i, o.ref)
					}
				}
				if test.ok != (len(got) == 3) {
					t.Errorf("%d objects", len(got))
				}
			})
		})
	}
}

// Versions 7.0.3.2 to 8.0.2 require a permission on the root object for each page but the first.
func TestARefusedPageSaysWhatToGrantOnTheRootObject(t *testing.T) {
	b := &book{refuse: &soap.Fault{}}
	b.refuse.Detail.Fault = types.NoPermission{PrivilegeId: "System.View"}
	c := &vim25.Client{RoundTripper: b}
	c.ServiceContent.RootFolder = types.ManagedObjectReference{Type: "Folder", Value: "group-d1"}
	_, err := retrieve(t.Context(), c, types.PropertyFilterSpec{})
	var refused *vsphere.Error
	if !errors.As(err, &refused) || refused.Kind != vsphere.KindPermission || refused.Privilege != "System.View" || refused.Object.Value != "group-d1" || b.calls != 2 {
		t.Errorf("%d calls, error %v", b.calls, err)
	}
}
