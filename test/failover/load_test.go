//go:build unix

package failover

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

const (
	// groupCount is the constant number of groups.
	groupCount = 18
	// mostVMs of one group.
	mostVMs = 3
)

// load is users who change groups continuously.
type load struct {
	member client.Client
	random *rand.Rand

	stop    context.CancelFunc
	running sync.WaitGroup
	changed atomic.Int64
	// renews makes the users delete and create groups as well.
	renews atomic.Bool
}

func newLoad(member client.Client, seed uint64) *load {
	return &load{member: member, random: rand.New(rand.NewPCG(seed, 0)), stop: func() {}}
}

func newGroup(name string, vms int32) *v1alpha1.VmGroup {
	return &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &vms},
	}
}

func groupName(i int) string { return fmt.Sprintf("vg-%d", i) }

// begin creates the groups.
func (l *load) begin(ctx context.Context) error {
	for i := range groupCount {
		if err := l.member.Create(ctx, newGroup(groupName(i), 1)); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("create the groups: %w", err)
		}
	}
	return nil
}

// churn changes a group at each pace until settle is called or the test ends.
func (l *load) churn(ctx context.Context, t *testing.T) {
	ctx, l.stop = context.WithCancel(ctx)
	t.Cleanup(func() { l.stop(); l.running.Wait(); l.renews.Store(false) })
	l.running.Go(func() {
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			// Users retry when an API server was too busy, or on a conflict.
			err := retry.OnError(retry.DefaultBackoff, busy, func() error { return l.change(ctx) })
			if err != nil && ctx.Err() == nil {
				t.Errorf("change a group: %v", err)
			}
		}
	})
}

func busy(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsInternalError(err)
}

func (l *load) change(ctx context.Context) error {
	name, vms := groupName(l.random.IntN(groupCount)), int32(1+l.random.IntN(mostVMs))
	l.changed.Add(1)
	if l.renews.Load() && l.random.IntN(4) == 0 {
		if err := client.IgnoreNotFound(l.member.Delete(ctx, newGroup(name, 0))); err != nil {
			return err
		}
		// While the old one is being deleted, its name is taken; a later change creates it, or settle does.
		return client.IgnoreAlreadyExists(l.member.Create(ctx, newGroup(name, vms)))
	}
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, vms)
	err := l.member.Patch(ctx, newGroup(name, 0), client.RawPatch(types.MergePatchType, patch))
	if client.IgnoreNotFound(err) == nil && err != nil {
		err = client.IgnoreAlreadyExists(l.member.Create(ctx, newGroup(name, vms)))
	}
	return err
}

// changeAll changes the number of VMs of every group, once.
func (l *load) changeAll(ctx context.Context) error {
	groups := &v1alpha1.VmGroupList{}
	if err := l.member.List(ctx, groups, client.InNamespace(namespace)); err != nil {
		return err
	}
	for i := range groups.Items {
		g := &groups.Items[i]
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, *g.Spec.Replicas%mostVMs+1)
		if err := l.member.Patch(ctx, g, client.RawPatch(types.MergePatchType, patch)); err != nil {
			return err
		}
		l.changed.Add(1)
	}
	return nil
}

// changes is the number of changes since the world began.
func (l *load) changes() int64 { return l.changed.Load() }

// settle ends the changes and waits until every group has its last requested state.
func (l *load) settle(ctx context.Context, t *testing.T) {
	t.Helper()
	l.stop()
	l.running.Wait()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	last := ""
	err := await.Condition(ctx, "every group to be as it was asked for", func(ctx context.Context) (bool, error) {
		groups := &v1alpha1.VmGroupList{}
		if err := l.member.List(ctx, groups, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		if len(groups.Items) < groupCount { // some were deleted
			return false, l.begin(ctx)
		}
		for i := range groups.Items {
			if g := &groups.Items[i]; !fulfilled(g) {
				last = fmt.Sprintf("%s wants %d VMs, has %d; phase %s, deleted %v, message %q", g.Name, *g.Spec.Replicas, g.Status.ReadyReplicas,
					g.Status.Phase, g.DeletionTimestamp, g.Status.LastMessage)
				return false, nil
			}
		}
		return len(groups.Items) == groupCount, nil
	})
	if err != nil {
		t.Fatalf("%v; %s", err, last)
	}
}

func fulfilled(g *v1alpha1.VmGroup) bool {
	n := *g.Spec.Replicas
	return g.DeletionTimestamp == nil && g.Status.ObservedGeneration == g.Generation && g.Status.Phase == v1alpha1.PhaseRunning &&
		stack.IsReady(g.Status.Conditions) && g.Status.Replicas == n && g.Status.ReadyReplicas == n && int(n) == len(g.Status.VMs) && len(g.Status.Deleting) == 0
}
