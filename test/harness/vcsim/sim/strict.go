package sim

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// strict makes a simulator refuse what a vCenter refuses and govmomi's simulator accepts: docs/contributing/simulator-rules.md lists
// the rules with their sources. It sees every call before the simulator does. A rule about the call itself answers
// with a fault. A rule about the task that the call starts waits in a submission. Where that is not enough, the
// call is sent to an object of ours, which calls the simulator's.
type strict struct {
	access    access
	hidden    hidden
	uuids     uuids
	retention retention
	history   history
	// pageSize is Options.PageSize.
	pageSize int32
	// cloneDelay is how long the task of a clone waits before it does anything.
	cloneDelay time.Duration
	// holdClone is Options.HoldClone, and unborn has the names that clones have taken for VMs that nobody sees.
	holdClone func(name string) (until <-chan struct{}, takesName bool)
	unborn    unborn
	// shows and courses are Options.CloneShows and Options.Courses, and makings has the VMs that clones are making, and
	// that everybody sees.
	shows   Making
	courses func(name string) Course
	makings makings
	stuck   stuck
	drs     drs
	tasks   submissions
	guests  guests
}

// desk is the object of ours that calls are sent to. Requests still say which object they are about.
type desk struct {
	Self   types.ManagedObjectReference
	strict *strict
}

// Reference of the desk.
func (d *desk) Reference() types.ManagedObjectReference { return d.Self }

// Lock and Unlock keep the simulator from handling one call at a time.
func (*desk) Lock() {}

// Unlock is Lock's counterpart.
func (*desk) Unlock() {}

var deskRef = types.ManagedObjectReference{Type: "Desk", Value: "desk"}

// enforce installs the rules. They hold for calls by HTTP.
func enforce(service *simulator.Service, s *strict) {
	registry := service.Context.Map
	registry.Put(&desk{Self: deskRef, strict: s})
	registry.AddHandler(&s.tasks)
	registry.AddHandler(&s.retention)
	registry.AddHandler(&s.uuids)
	registry.AddHandler(&s.guests)
	registry.AddHandler(&s.drs)
	for _, task := range registry.AllReference("Task") {
		s.retention.ended = append(s.retention.ended, endedTask{task.Reference(), time.Now()}) // of making the model
	}
	registry.SessionManager().ValidLogin = s.access.validLogin
	observe := registry.Handler
	registry.Handler = func(ctx *simulator.Context, m *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		if ctx.Session == nil {
			return nil, nil // what needs a login is refused by the simulator
		}
		s.retention.forget(ctx)
		if ctx.Map.Get(m.This) != nil {
			if fault := s.access.check(ctx, m); fault != nil {
				return nil, fault
			}
			if fault := s.call(ctx, m); fault != nil {
				return nil, fault
			}
		}
		return observe(ctx, m)
	}
}

// refuse refuses a call for what its object does, or may not do, at present.
func (s *strict) refuse(ctx *simulator.Context, m *simulator.Method) types.BaseMethodFault {
	if fault := checkDisabled(ctx, m); fault != nil {
		return fault
	}
	if fault := s.makings.check(m); fault != nil {
		return fault
	}
	if fault := s.stuck.check(m); fault != nil {
		return fault
	}
	return s.tasks.queue.check(m)
}

// call applies the rules to a call to an object that exists.
func (s *strict) call(ctx *simulator.Context, m *simulator.Method) types.BaseMethodFault {
	if fault := s.refuse(ctx, m); fault != nil {
		return fault
	}
	shrinkPage(m.Body, s.pageSize)
	switch req := m.Body.(type) {
	case *types.PowerOnVM_Task, *types.PowerOnMultiVM_Task:
		m.This = deskRef
	case *types.CloneVM_Task:
		if fault := checkClone(ctx, req); fault != nil {
			return fault
		}
		m.This = deskRef
	case *types.CreateVM_Task:
		if fault := checkSizes(&req.Config); fault != nil {
			return fault
		}
		m.This = deskRef
	case *types.Destroy_Task, *types.Rename_Task:
		if m.This.Type == "VirtualMachine" || m.This.Type == "Folder" {
			m.This = deskRef
		}
	case *types.ReconfigVM_Task:
		if fault := checkSizes(&req.Spec); fault != nil {
			return fault
		}
		m.This = deskRef
	case *types.CreateFolder, *types.MoveIntoFolder_Task:
		if m.This.Type == "Folder" {
			m.This = deskRef
		}
	case *types.FindAllByUuid, *types.QueryEvents, *types.UnregisterVM, *types.MarkAsTemplate, *types.MarkAsVirtualMachine, *types.CancelTask, *types.CreateContainerView,
		*types.Logout, *types.ContinueRetrievePropertiesEx, *types.RetrievePropertiesEx, *types.RetrieveProperties, *types.HasPrivilegeOnEntities, *types.HasPrivilegeOnEntity,
		*types.HasUserPrivilegeOnEntities, *types.FetchUserPrivilegeOnEntities:
		m.This = deskRef
	case *types.ShutdownGuest:
		if fault := checkTools(ctx, m.This); fault != nil {
			return fault
		}
		m.This = deskRef
	case *types.StandbyGuest:
		return checkTools(ctx, m.This)
	default:
		if m.This.Type == "VirtualMachine" {
			submit(ctx, &submission{entity: m.This})
		}
	}
	return nil
}
