package session

import (
	"testing"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

func TestAReadThatIsAnsweredAsThatOfAStrangerIsKnown(t *testing.T) {
	missing := func(fault types.BaseMethodFault) []types.ObjectContent {
		return []types.ObjectContent{{}, {MissingSet: []types.MissingProperty{{Path: "name", Fault: types.LocalizedMethodFault{Fault: fault}}}}}
	}
	page := func(objects []types.ObjectContent) soap.HasFault {
		return &methods.RetrievePropertiesExBody{Res: &types.RetrievePropertiesExResponse{Returnval: &types.RetrieveResult{Objects: objects}}}
	}
	for name, c := range map[string]struct {
		answer soap.HasFault
		want   bool
	}{
		"a page, the login is lost":      {page(missing(&types.NotAuthenticated{})), true},
		"all at once, the login is lost": {&methods.RetrievePropertiesBody{Res: &types.RetrievePropertiesResponse{Returnval: missing(&types.NotAuthenticated{})}}, true},
		"the account lacks a privilege":  {page(missing(&types.NoPermission{})), false},
		"everything is shown":            {page([]types.ObjectContent{{}}), false},
		"nothing is there":               {&methods.RetrievePropertiesExBody{Res: &types.RetrievePropertiesExResponse{}}, false},
		"the answer is a fault":          {&methods.RetrievePropertiesExBody{}, false},
		"the answer to another call":     {&methods.CurrentTimeBody{}, false},
		"a whole answer that is a fault": {&methods.RetrievePropertiesBody{}, false},
	} {
		if got := forStrangers(c.answer); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
