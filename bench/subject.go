//go:build unix

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// subject is a measured operator: the product or the original. The same code measures both.
type subject struct {
	// agent is the beginning of its user agent, by which the proxy identifies its calls.
	agent string
	// cluster with the groups that it serves.
	cluster *stack.Cluster
}

func newGroup(name string, replicas int) *v1alpha1.VmGroup {
	n := int32(replicas)
	return &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &n},
	}
}

func (u *subject) apply(ctx context.Context, name string, replicas int) error {
	if err := u.cluster.Create(ctx, newGroup(name, replicas)); err != nil {
		return fmt.Errorf("apply group %s: %w", name, err)
	}
	return nil
}

// remove deletes a group and waits for its deletion.
func (u *subject) remove(ctx context.Context, name string) error {
	group := newGroup(name, 0)
	if err := u.cluster.Delete(ctx, group); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete group %s: %w", name, err)
	}
	return await.Condition(ctx, "group "+name+" to be gone", func(ctx context.Context) (bool, error) {
		err := u.cluster.Get(ctx, client.ObjectKeyFromObject(group), group)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// writes are the operator's own writes on groups and events, from the API server's metrics. The verb distinguishes them from this program's
// writes: this program creates and deletes groups, and operators do neither.
type writes struct{ groups, events int }

func (w writes) minus(before writes) writes {
	return writes{w.groups - before.groups, w.events - before.events}
}

func writesOf(ctx context.Context, cluster *stack.Cluster) (writes, error) {
	counts, err := cluster.Requests(ctx)
	if err != nil {
		return writes{}, err
	}
	return writes{
		groups: localcluster.Total(counts, func(k localcluster.RequestKey) bool {
			// A starting process applies the limits of policies to each member once. That is no write on a group.
			return k.Group == v1alpha1.GroupVersion.Group && k.Resource != "vmgrouplimits" && k.Writes() && k.Verb != "POST" && !strings.HasPrefix(k.Verb, "DELETE")
		}),
		events: localcluster.Total(counts, func(k localcluster.RequestKey) bool { return k.Resource == "events" && k.Writes() }),
	}, nil
}

// running counts the running VMs of a group in vCenter.
func (r *rig) running(ctx context.Context, group string) (int, error) {
	vms, err := r.eye.VMs(ctx)
	n := 0
	for _, vm := range vms {
		if vm.On && strings.HasPrefix(vm.Name, group+"-") {
			n++
		}
	}
	return n, err
}

// untilQuiet waits until an operator has not called vCenter for the given time.
func (r *rig) untilQuiet(ctx context.Context, u *subject, d time.Duration) error {
	last, since := -1, time.Now()
	return await.Condition(ctx, u.agent+" to be quiet", func(context.Context) (bool, error) {
		if now := r.Proxy.Count("", u.agent); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) >= d, nil
	})
}
