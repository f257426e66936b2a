package sim

import (
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// propertyReader is a property collector of the simulator or of this package.
type propertyReader interface {
	mo.Reference
	RetrievePropertiesEx(ctx *simulator.Context, req *types.RetrievePropertiesEx) soap.HasFault
	ContinueRetrievePropertiesEx(ctx *simulator.Context, req *types.ContinueRetrievePropertiesEx) soap.HasFault
}

// RetrievePropertiesEx reads properties, and hides objects and properties that the account cannot see. If objects are hidden, the answer has only one
// page.
func (d *desk) RetrievePropertiesEx(ctx *simulator.Context, req *types.RetrievePropertiesEx) (answer soap.HasFault) {
	collector, ok := ctx.Session.Get(req.This).(propertyReader)
	if !ok {
		return &methods.RetrievePropertiesExBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	hides := d.strict.hidden.of(ctx, &d.strict.access)
	if hides {
		req.Options.MaxObjects = 0
	}
	ctx.WithLock(collector, func() { answer = collector.RetrievePropertiesEx(ctx, req) })
	if body, ok := answer.(*methods.RetrievePropertiesExBody); ok && body.Res != nil && body.Res.Returnval != nil {
		if hides {
			body.Res.Returnval.Objects = d.strict.hidden.filter(req.SpecSet, body.Res.Returnval.Objects)
		}
		for i := range body.Res.Returnval.Objects {
			d.strict.access.hide(ctx, &body.Res.Returnval.Objects[i])
		}
	}
	return d.strict.makings.filtered(answer)
}

// RetrieveProperties is the older form of RetrievePropertiesEx.
func (d *desk) RetrieveProperties(ctx *simulator.Context, req *types.RetrieveProperties) soap.HasFault {
	body := &methods.RetrievePropertiesBody{}
	answer := d.RetrievePropertiesEx(ctx, &types.RetrievePropertiesEx{This: req.This, SpecSet: req.SpecSet})
	if body.Fault_ = answer.Fault(); body.Fault_ == nil {
		body.Res = &types.RetrievePropertiesResponse{}
		if ex, ok := answer.(*methods.RetrievePropertiesExBody); ok && ex.Res.Returnval != nil {
			body.Res.Returnval = ex.Res.Returnval.Objects
		}
	}
	return body
}

// hide moves the properties of an object that the account cannot see to its missing ones.
func (a *access) hide(ctx *simulator.Context, object *types.ObjectContent) {
	if !guarded[object.Obj.Type] {
		return
	}
	var shown []types.DynamicProperty
	for _, property := range object.PropSet {
		privilege, on := a.neededToSee(ctx, object.Obj, property.Name)
		if privilege == "" {
			shown = append(shown, property)
			continue
		}
		object.MissingSet = append(object.MissingSet, types.MissingProperty{Path: property.Name, Fault: types.LocalizedMethodFault{
			Fault: &types.NoPermission{Object: &on, PrivilegeId: privilege}, LocalizedMessage: "Permission to perform this operation was denied.",
		}})
	}
	object.PropSet = shown
}

// guarded are the kinds of objects with properties that need a privilege.
var guarded = map[string]bool{"SessionManager": true, "Task": true, "TaskManager": true}

// neededToSee returns the missing privilege for a property and its object, or "".
func (a *access) neededToSee(ctx *simulator.Context, ref types.ManagedObjectReference, property string) (string, types.ManagedObjectReference) {
	privilege, on, user := "", rootOf(ctx), ctx.Session.UserName
	switch {
	case ref.Type == "SessionManager" && strings.HasPrefix(property, "sessionList"):
		privilege, on = "Sessions.TerminateSession", ref
	case ref.Type == "TaskManager" && property == "recentTask" && !a.rootLenient:
		privilege = "System.View"
	case ref.Type == "Task" && a.noRoot && strings.HasPrefix(property, "info") && isOrphan(ctx, ref):
		privilege = "System.Read"
	}
	if privilege == "" || a.grantsOn(user, privilege, on) {
		return "", on
	}
	return privilege, on
}

// isOrphan reports whether the object of a task was removed, so that no account has access to the task through it.
func isOrphan(ctx *simulator.Context, ref types.ManagedObjectReference) bool {
	task, ok := ctx.Map.Get(ref).(*simulator.Task)
	if !ok {
		return false
	}
	var entity *types.ManagedObjectReference
	ctx.WithLock(task, func() { entity = task.Info.Entity })
	return entity == nil || ctx.Map.Get(*entity) == nil
}
