package session

import (
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// forStrangers reports whether vCenter answered a read as one without a login. It then refuses no call: it names the
// fault NotAuthenticated for each property that it does not show. A caller would take that for a missing privilege.
func forStrangers(res soap.HasFault) bool {
	var objects []types.ObjectContent
	switch body := res.(type) {
	case *methods.RetrievePropertiesBody:
		if body.Res != nil {
			objects = body.Res.Returnval
		}
	case *methods.RetrievePropertiesExBody:
		if body.Res != nil && body.Res.Returnval != nil {
			objects = body.Res.Returnval.Objects
		}
	}
	return slices.ContainsFunc(objects, func(o types.ObjectContent) bool {
		return slices.ContainsFunc(o.MissingSet, func(m types.MissingProperty) bool {
			_, lost := m.Fault.Fault.(*types.NotAuthenticated)
			return lost
		})
	})
}
