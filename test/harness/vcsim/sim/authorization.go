package sim

import (
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// HasPrivilegeOnEntities answers for the account of a session.
func (d *desk) HasPrivilegeOnEntities(ctx *simulator.Context, req *types.HasPrivilegeOnEntities) soap.HasFault {
	res := &types.HasPrivilegeOnEntitiesResponse{}
	for _, e := range req.Entity {
		res.Returnval = append(res.Returnval, d.strict.access.available(d.userOf(ctx, req.SessionId), e, req.PrivId))
	}
	return &methods.HasPrivilegeOnEntitiesBody{Res: res}
}

// HasPrivilegeOnEntity answers for the account of a session.
func (d *desk) HasPrivilegeOnEntity(ctx *simulator.Context, req *types.HasPrivilegeOnEntity) soap.HasFault {
	res := &types.HasPrivilegeOnEntityResponse{}
	for _, privilege := range req.PrivId {
		res.Returnval = append(res.Returnval, d.strict.access.grantsOn(d.userOf(ctx, req.SessionId), privilege, req.Entity))
	}
	return &methods.HasPrivilegeOnEntityBody{Res: res}
}

// HasUserPrivilegeOnEntities answers for an account.
func (d *desk) HasUserPrivilegeOnEntities(req *types.HasUserPrivilegeOnEntities) soap.HasFault {
	res := &types.HasUserPrivilegeOnEntitiesResponse{}
	for _, e := range req.Entities {
		res.Returnval = append(res.Returnval, d.strict.access.available(req.UserName, e, req.PrivId))
	}
	return &methods.HasUserPrivilegeOnEntitiesBody{Res: res}
}

// FetchUserPrivilegeOnEntities lists the privileges of an account.
func (d *desk) FetchUserPrivilegeOnEntities(ctx *simulator.Context, req *types.FetchUserPrivilegeOnEntities) soap.HasFault {
	res := &types.FetchUserPrivilegeOnEntitiesResponse{}
	a := &d.strict.access
	var has []string
	switch req.UserName {
	case a.adminUsername:
		manager, ok := ctx.Map.Get(req.This).(*simulator.AuthorizationManager)
		if ok {
			has = object.AuthorizationRoleList(manager.RoleList).ByName("Admin").Privilege
		}
	case a.username:
		has = slices.Concat(systemPrivileges, a.privileges)
	}
	for _, e := range req.Entities {
		on := slices.DeleteFunc(slices.Clone(has), func(privilege string) bool { return !a.grantsOn(req.UserName, privilege, e) })
		res.Returnval = append(res.Returnval, types.UserPrivilegeResult{Entity: e, Privileges: on})
	}
	return &methods.FetchUserPrivilegeOnEntitiesBody{Res: res}
}

func (a *access) available(user string, on types.ManagedObjectReference, privileges []string) types.EntityPrivilege {
	out := types.EntityPrivilege{Entity: on}
	for _, p := range privileges {
		out.PrivAvailability = append(out.PrivAvailability, types.PrivilegeAvailability{PrivId: p, IsGranted: a.grantsOn(user, p, on)})
	}
	return out
}

// userOf returns the account of a session, or "".
func (d *desk) userOf(ctx *simulator.Context, session string) string {
	if ctx.Session.Key == session {
		return ctx.Session.UserName
	}
	manager, ok := ctx.Session.Get(ctx.Map.SessionManager().Self).(*simulator.SessionManager)
	if !ok {
		return ""
	}
	for _, s := range manager.SessionList {
		if s.Key == session {
			return s.UserName
		}
	}
	return ""
}
