//go:build unix

package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	template = "vm-operator-template"
	// guests is a template whose VMs have guests: see Scenario.Guests.
	guests = "guests"
	// cloneTime is long enough for events during a clone.
	cloneTime = 60 * time.Millisecond
	// neighbor is an undisturbed group.
	neighbor = "neighbor"
)

// Lane is a hub that is its own member, a vCenter and a manager, with a proxy in front of each server. It tries one
// point at a time; several lanes can run concurrently.
type Lane struct {
	stack *stack.Stack
	trap  trap
	// crashed receives a value when the trap has killed the manager.
	crashed chan struct{}
	// killing is held while the manager is killed or started.
	killing sync.Mutex
	// trials so far: each gets a separate namespace.
	trials int

	// cut is true while vCenter is unreachable.
	cut atomic.Bool

	// since the last start of the manager:
	watches, reads atomic.Int64
	// changes counts the calls that change something at vCenter, and writes to VmGroups.
	changes atomic.Int64
}

// NewLane starts a lane. ctx limits only the start. out receives the build output.
func NewLane(ctx context.Context, out io.Writer) (*Lane, error) {
	l := &Lane{crashed: make(chan struct{}, 1)}
	return l, l.begin(ctx, out)
}

// renew replaces all components of the lane, after a trial that possibly left something behind.
func (l *Lane) renew(ctx context.Context, out io.Writer) error {
	if err := l.Stop(); err != nil {
		return fmt.Errorf("stop a lane: %w", err)
	}
	l.crashed = make(chan struct{}, 1)
	return l.begin(ctx, out)
}

func (l *Lane) begin(ctx context.Context, out io.Writer) (err error) {
	l.stack, err = stack.Start(ctx, stack.Options{
		ProxyAPI:    true,
		Sim:         sim.Options{Templates: []string{template}, CloneDelay: cloneTime, Privileges: slices.Concat(sim.OperatorPrivileges, sim.AdoptionPrivileges)},
		ManagerArgs: []string{"--enable-local-member", "--sharding-scale=0.25"},
		VCenter: func(s *v1alpha1.VCenterSpec) {
			s.Limits = v1alpha1.VCenterLimits{Tasks: 16, TasksPerHost: 16}
		},
		Out: out,
	})
	if err != nil {
		return fmt.Errorf("start a lane: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Stop())
		}
	}()
	// Scenarios begin with groups without VMs, which are rejected by default.
	anything := &v1alpha1.VmGroupPolicy{}
	anything.Name = "anything"
	anything.Spec.Limits = &v1alpha1.PolicyLimits{Replicas: &v1alpha1.CountRange{Min: new(int32(0))}}
	if err := l.hub().Create(ctx, anything); err != nil {
		return fmt.Errorf("allow all groups: %w", err)
	}
	if err := l.teachGuests(ctx); err != nil {
		return err
	}
	if err := l.stack.Person.AddRootDisk(ctx, "/DC0/vm/"+template, 1); err != nil {
		return err
	}
	l.listen()
	local := &v1alpha1.MemberCluster{}
	local.Name = v1alpha1.LocalMember
	if err := l.hub().Create(ctx, local); err != nil {
		return fmt.Errorf("join the hub itself: %w", err)
	}
	// No trial can change its VMs and its object.
	t := &trial{lane: l, scenario: Scenario{Name: neighbor}, namespace: "default", name: neighbor}
	if err := t.create(ctx, 2); err != nil {
		return err
	}
	starting, started := l.stack.WhileManagersRun(ctx)
	defer started()
	return t.untilReady(starting, 2)
}

// teachGuests creates a template whose guests shut down.
func (l *Lane) teachGuests(ctx context.Context) error {
	person := l.stack.Person
	if err := person.AddTemplate(ctx, "/DC0/vm", guests); err != nil {
		return err
	}
	return person.SetTemplate(ctx, "/DC0/vm/"+guests, map[string]string{sim.GuestTools: "0s", sim.GuestShutdown: "300ms"})
}

// listen makes the lane receive every call of the manager from now on, as it does from the beginning.
func (l *Lane) listen() {
	l.stack.Proxy.Hook(l.onSOAP)
	l.hub().Proxy.Hook(l.onAPI)
}

// Stop ends everything that the lane started.
func (l *Lane) Stop() error { return l.stack.Stop() }

// Log returns the manager's last lines.
func (l *Lane) Log(lines int) string { return l.stack.Manager.Tail(lines) }

func (l *Lane) hub() *stack.Cluster { return l.stack.Hub }

// onSOAP is called for every SOAP call, including the user's.
func (l *Lane) onSOAP(call sim.Call) faultproxy.Fault {
	site := Site{Server: VCenter, Name: call.Method, Writes: call.Changes}
	if site.Writes {
		l.changes.Add(1)
	} else {
		l.reads.Add(1)
	}
	fault := l.arrive(site)
	if l.cut.Load() && fault.Act == faultproxy.Pass {
		fault.Act = faultproxy.CutBefore
	}
	return fault
}

// onAPI is called for every request of the manager to the API server. Reads and watches are not points: the number
// of cache fills does not matter.
func (l *Lane) onAPI(call localcluster.APICall) faultproxy.Fault {
	if call.Resource == "vmgroups" {
		if call.Verb == "watch" {
			l.watches.Add(1)
		}
		if call.Writes() {
			l.changes.Add(1)
		}
	}
	if !call.Writes() {
		return faultproxy.Fault{}
	}
	name := call.Verb + " " + call.Resource
	if call.Subresource != "" {
		name += "/" + call.Subresource
	}
	return l.arrive(Site{Server: Kubernetes, Name: name, Writes: true})
}

func (l *Lane) arrive(site Site) faultproxy.Fault {
	point, hit := l.trap.arrive(site)
	if !hit {
		return faultproxy.Fault{}
	}
	return faultAt(point, l.killArmed)
}

// killArmed kills the manager unless the trial is over: a held call can return late.
func (l *Lane) killArmed() {
	l.killing.Lock()
	defer l.killing.Unlock()
	if !l.trap.isArmed() {
		return
	}
	l.stack.Manager.Kill()
	l.crashed <- struct{}{}
}

// kill ends the manager with SIGKILL.
func (l *Lane) kill() {
	l.killing.Lock()
	defer l.killing.Unlock()
	l.stack.Manager.Kill()
}

// start starts the manager again.
func (l *Lane) start(ctx context.Context) error {
	l.killing.Lock()
	defer l.killing.Unlock()
	l.watches.Store(0)
	l.reads.Store(0)
	if err := l.stack.RestartManager(ctx); err != nil {
		return fmt.Errorf("start the manager again: %w", err)
	}
	return nil
}

// clones counts the clone requests in this trial.
func (l *Lane) clones() int {
	n := 0
	for _, r := range l.stack.Proxy.Records() {
		if r.Method == "CloneVM_Task" {
			n++
		}
	}
	return n
}
