//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/bench/eye"
	"github.com/codeconnect/vmgroup-operator/test/failover"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	template = "vm-operator-template"
	// productAgent is the beginning of the manager's user agent.
	productAgent = "vmgroup-operator"
	// patience is the timeout for actions that should take seconds.
	patience = 5 * time.Minute
)

// setup is the environment of benchmarks.
type setup struct {
	about   string
	members []string
	// taskTime is the time of vCenter's work on a clone: L in the goals.
	taskTime  time.Duration
	inventory v1alpha1.Inventory
	width     int32
	// replicas is the number of managers to start, each with args. 0 means one manager alone on the hub.
	replicas int
	args     []string
	// admission serves the webhooks, with cert-manager on the hub.
	admission bool
}

// The simulator can handle several hundred VMs in watch mode. With more VMs, the operator polls it. Bulk is filled with fast clones.
var (
	few = setup{
		about:   "one member, clones that take 2 s, watch mode",
		members: []string{"team-a"}, taskTime: 2 * time.Second, width: 16,
		inventory: v1alpha1.Inventory{Mode: v1alpha1.InventoryWatch},
	}
	shared = setup{
		about:   "two members, clones that take 2 s, watch mode",
		members: []string{"team-a", "team-b"}, taskTime: 2 * time.Second, width: tenantWidth,
		inventory: v1alpha1.Inventory{Mode: v1alpha1.InventoryWatch},
	}
	many = setup{
		about:   "two members, clones that take 50 ms, poll mode every 10 s",
		members: []string{"team-a", "team-b"}, taskTime: 50 * time.Millisecond, width: 16,
		inventory: v1alpha1.Inventory{Mode: v1alpha1.InventoryPoll, PollSeconds: 10},
	}
	thousand = setup{
		about:   "two members, clones that take 50 ms, poll mode every 2 s",
		members: []string{"team-a", "team-b"}, taskTime: 50 * time.Millisecond, width: 16,
		inventory: v1alpha1.Inventory{Mode: v1alpha1.InventoryPoll, PollSeconds: 2},
	}
	edits = setup{
		about:   "two members, clones that take 2 s, poll mode every second",
		members: []string{"team-a", "team-b"}, taskTime: 2 * time.Second, width: 16,
		inventory: v1alpha1.Inventory{Mode: v1alpha1.InventoryPoll, PollSeconds: 1},
	}
	several = setup{
		about:   "two members, clones that take 2 s, watch mode, several replicas with 4 workers each",
		members: []string{"team-a", "team-b"}, taskTime: 2 * time.Second, width: 16,
		inventory: v1alpha1.Inventory{Mode: v1alpha1.InventoryWatch},
		replicas:  1, args: []string{fmt.Sprintf("--workers=%d", workers)},
	}
	neighbors = setup{
		about:   "a member and the cluster behind hostile ones, clones that take 200 ms, watch mode",
		members: []string{"team-a", "team-b"}, taskTime: 200 * time.Millisecond, width: 16,
		inventory: v1alpha1.Inventory{Mode: v1alpha1.InventoryWatch},
	}
	doors = setup{
		about:   "one member with admission policies and webhooks, cert-manager on the hub",
		members: []string{"team-a"}, taskTime: 50 * time.Millisecond, width: 16,
		inventory: v1alpha1.Inventory{Mode: v1alpha1.InventoryWatch}, admission: true,
	}
)

// rig is a stack, an eye on its vCenter, and the two operators.
type rig struct {
	*stack.Stack
	setup   *setup
	eye     *eye.Eye
	product *subject
	// metrics is the URL of the manager's metrics, for a single manager. observer records the owners of buckets, for several managers.
	metrics     string
	freeMetrics func()
	observer    *failover.Observer
	// original is started at its first use.
	original *originalProcess
	rounds   map[roundKey][]round
	// groups and replicas are the current filling of the rig.
	groups, replicas int
}

func startRig(ctx context.Context, o *setup) (_ *rig, err error) {
	r := &rig{setup: o, rounds: map[roundKey][]round{}, freeMetrics: func() {}}
	args := o.args
	if o.replicas == 0 {
		var metrics string
		if metrics, r.freeMetrics, err = stack.ReserveAddress(); err != nil {
			return nil, err
		}
		r.metrics = "http://" + metrics + "/metrics"
		args = append(slices.Clone(args), "--metrics-bind-address="+metrics)
	}
	r.Stack, err = stack.Start(ctx, stack.Options{
		Members: o.members,
		Sim:     sim.Options{Templates: []string{template}, CloneDelay: o.taskTime},
		VCenter: func(spec *v1alpha1.VCenterSpec) {
			spec.Inventory = o.inventory
			spec.Limits = v1alpha1.VCenterLimits{Tasks: o.width, TasksPerHost: o.width}
		},
		Replicas:    o.replicas,
		ManagerArgs: args,
		Admission:   o.admission,
		Out:         os.Stdout,
	})
	if err != nil {
		r.freeMetrics()
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.stop())
		}
	}()
	if r.eye, err = eye.Open(ctx, r.Person.Client()); err != nil {
		return nil, err
	}
	if o.replicas > 0 {
		if r.observer, err = failover.Observe(r.Hub.Config, stack.Namespace); err != nil {
			return nil, err
		}
	}
	r.product = &subject{agent: productAgent, cluster: r.Members[o.members[0]]}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, name := range o.members {
		member := &v1alpha1.MemberCluster{}
		if err := await.Condition(ctx, "member "+name, func(ctx context.Context) (bool, error) {
			err := r.Hub.Get(ctx, client.ObjectKey{Name: name}, member)
			return stack.IsReady(member.Status.Conditions), err
		}); err != nil {
			return nil, err
		}
	}
	return r, r.vcenterReady(ctx)
}

func (r *rig) vcenterReady(ctx context.Context) error {
	return await.Condition(ctx, "VCenter default to be ready", func(ctx context.Context) (bool, error) {
		v := &v1alpha1.VCenter{}
		err := r.Hub.Get(ctx, client.ObjectKey{Name: "default"}, v)
		return v.Status.ObservedGeneration == v.Generation && stack.IsReady(v.Status.Conditions), err
	})
}

// configure changes the VCenter and waits until the operator uses the change.
func (r *rig) configure(ctx context.Context, change func(*v1alpha1.VCenterSpec)) error {
	v := &v1alpha1.VCenter{}
	if err := r.Hub.Get(ctx, client.ObjectKey{Name: "default"}, v); err != nil {
		return err
	}
	base := v.DeepCopy()
	change(&v.Spec)
	if err := r.Hub.Patch(ctx, v, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("change the VCenter: %w", err)
	}
	return r.vcenterReady(ctx)
}

func (r *rig) setWidth(ctx context.Context, width int) error {
	return r.configure(ctx, func(s *v1alpha1.VCenterSpec) {
		s.Limits = v1alpha1.VCenterLimits{Tasks: int32(width), TasksPerHost: int32(width)}
	})
}

// lastWords returns the end of the manager's log for an error.
func (r *rig) lastWords() string {
	if r == nil || r.Stack == nil {
		return ""
	}
	return "\nthe manager's last words:\n" + r.LastWords(15)
}

func (r *rig) stop() error {
	var errs []error
	if r.observer != nil {
		r.observer.Close()
	}
	if r.original != nil {
		errs = append(errs, r.original.stop())
	}
	errs = append(errs, r.Stop())
	r.freeMetrics()
	return errors.Join(errs...)
}
