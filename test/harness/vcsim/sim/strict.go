package sim

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// strict makes a simulator refuse what a vCenter refuses and govmomi's simulator accepts. docs/contributing/simulator-rules.md lists the rules with their
// sources. strict sees every call before the simulator does. A rule about the call answers with a fault. A rule about the call's task waits
// in a submission. If that is not enough, the call is routed to a desk, which calls the simulator's object.
type strict struct {
	access    access
	hidden    hidden
	uuids     uuids
	retention retention
	history   history
	// pageSize is Options.PageSize.
	pageSize int32
	// cloneDelay is the time that the task of a clone waits before its work.
	cloneDelay time.Duration
	// holdClone is Options.HoldClone. unborn contains the reserved names of invisible VMs.
	holdClone func(name string) (until <-chan struct{}, takesName bool)
	unborn    unborn
	// holdRemoval is Options.HoldRemoval.
	holdRemoval func() (until <-chan struct{})
	// shows and courses are Options.CloneShows and Options.Courses. makings contains the visible VMs of running clones.
	shows   Making
	courses func(name string) Course
	makings makings
	stuck   stuck
	drs     drs
	tasks   submissions
	guests  guests
}

// desk is the object to which calls are routed. Requests still contain the reference of their object.
type desk struct {
	Self   types.ManagedObjectReference
	strict *strict
}

// Reference of the desk.
func (d *desk) Reference() types.ManagedObjectReference { return d.Self }

// Lock and Unlock do nothing, so that the simulator can handle several calls at a time.
func (*desk) Lock() {}

// Unlock is Lock's counterpart.
func (*desk) Unlock() {}

var deskRef = types.ManagedObjectReference{Type: "Desk", Value: "desk"}

// enforce installs the rules for HTTP calls.
func enforce(service *simulator.Service, s *strict) {
	registry := service.Context.Map
	registry.Put(&desk{Self: deskRef, strict: s})
	registry.AddHandler(&s.tasks)
	registry.AddHandler(&s.retention)
	registry.AddHandler(&s.uuids)
	registry.AddHandler(&s.guests)
	registry.AddHandler(&s.drs)
	for _, task := range registry.AllReference("Task") {
		s.retention.ended = append(s.retention.ended, endedTask{task.Reference(), time.Now()}) // tasks from making the model
	}
	registry.SessionManager().ValidLogin = s.access.validLogin
	observe := registry.Handler
	registry.Handler = func(ctx *simulator.Context, m *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		if ctx.Session == nil {
			return nil, nil // the simulator refuses calls that need a login
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

// refuse refuses a call if the state of its object does not allow it.
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

// call applies the rules to a call of an existing object.
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
	case *types.FindAllByUuid, *types.QueryEvents, *types.UnregisterVM, *types.MarkAsTemplate, *types.MarkAsVirtualMachine, *types.CancelTask, *types.CreateContainerView, *types.FindChild,
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
