//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// crowd is the number of groups that are scaled while replicas stop. Each replica owns some of them.
const crowd = 12

// owners reads the owners of the buckets directly from the hub, without the operator.
func (d *demo) owners(ctx context.Context) (ring.Ring, map[string]string, error) {
	client, err := hub.New(d.stack.Hub.Config, hub.Options{Namespace: stack.Namespace})
	if err != nil {
		return ring.Ring{}, nil, err
	}
	s, err := client.Snapshot(ctx)
	hosts := map[string]string{}
	for _, session := range s.Sessions {
		hosts[session.Session] = session.Host
	}
	return s.Ring, hosts, err
}

// shared waits until every replica holds a fair share of the buckets.
func (d *demo) shared(ctx context.Context) error {
	shares := map[string]int{}
	err := await.Condition(ctx, "the replicas to share the groups", func(ctx context.Context) (bool, error) {
		r, hosts, err := d.owners(ctx)
		clear(shares)
		for _, slot := range r.Buckets {
			shares[hosts[slot.Holder]]++
		}
		fair := err == nil && len(r.Buckets) > 0
		for _, replica := range d.stack.Replicas {
			n := shares[replica.Name]
			fair = fair && (!replica.Alive() || n >= len(r.Buckets)/len(d.stack.Replicas))
		}
		return fair, nil
	})
	d.note("Shares of the groups: %s.", sortedCounts(shares))
	return err
}

// scaleCrowd creates groups in both members and waits until a third of their VMs have been requested.
func (d *demo) scaleCrowd(ctx context.Context, prefix string, before int) error {
	replicas := int32(2)
	for i := range crowd {
		member := []string{"team-a", "team-b"}[i%2]
		group := &v1alpha1.VmGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("%s-%d", prefix, i)},
			Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "debian-12", Replicas: &replicas},
		}
		if err := d.createGroup(ctx, member, group); err != nil {
			return err
		}
	}
	return await.Condition(ctx, "a third of the VMs to be there", func(ctx context.Context) (bool, error) {
		vms, err := d.ours(ctx)
		return vms >= before+crowd*2/3, err
	})
}

func (d *demo) crowdRuns(ctx context.Context, prefix string) error {
	errs := make([]error, 0, crowd)
	for i := range crowd {
		errs = append(errs, d.running(ctx, []string{"team-a", "team-b"}[i%2], fmt.Sprintf("%s-%d", prefix, i), 2))
	}
	return errors.Join(errs...)
}

// gap measures at the hub how long other replicas take to own all buckets of a stopped replica.
func (d *demo) gap(ctx context.Context, gone *stack.Replica, began time.Time) error {
	if err := await.Condition(ctx, "others to hold the groups of "+gone.Name, func(ctx context.Context) (bool, error) {
		r, hosts, err := d.owners(ctx)
		for _, slot := range r.Buckets {
			if host := hosts[slot.Holder]; host == "" || host == gone.Name {
				return false, err
			}
		}
		return err == nil, err
	}); err != nil {
		return err
	}
	d.note("The others hold everything %s later.", time.Since(began).Truncate(10*time.Millisecond))
	return nil
}

func (d *demo) killOne(ctx context.Context) error {
	if err := d.shared(ctx); err != nil {
		return err
	}
	if err := d.scaleCrowd(ctx, "storm", 12); err != nil {
		return err
	}
	began := time.Now()
	d.stack.Replicas[0].Kill()
	d.note("SIGKILL for %s in the middle of a scale-up of %d groups.", d.stack.Replicas[0].Name, crowd)
	if err := errors.Join(d.gap(ctx, d.stack.Replicas[0], began), d.crowdRuns(ctx, "storm")); err != nil {
		return err
	}
	d.note("All VMs run %s after the kill.", since(began))
	return d.exactly(ctx, 12+2*crowd)
}

func (d *demo) stopOne(ctx context.Context) error {
	if err := d.scaleCrowd(ctx, "calm", 12+2*crowd); err != nil {
		return err
	}
	began := time.Now()
	if err := d.stack.Replicas[1].Terminate(); err != nil {
		return err
	}
	d.note("SIGTERM for %s in the middle of another.", d.stack.Replicas[1].Name)
	if err := errors.Join(d.gap(ctx, d.stack.Replicas[1], began), d.crowdRuns(ctx, "calm")); err != nil {
		return err
	}
	if err := d.stack.Replicas[1].Stop(); err != nil {
		return err
	}
	d.note("All VMs run %s after the signal.", since(began))
	return d.exactly(ctx, 12+4*crowd)
}
