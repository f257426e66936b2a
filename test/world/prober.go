package world

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/history"
)

const (
	// probeEvery is the time from the end of one pass over a bucket to the next.
	probeEvery = 250 * time.Millisecond
	// knockEvery is the interval in which a replica tries a bucket that it cannot enter. It is notified when it can.
	knockEvery = 1700 * time.Millisecond
)

// Prober enters every bucket all the time, and makes two calls in each pass.
type Prober struct{ news []chan struct{} }

// probed returns an object of a bucket.
func probed(bucket int) sharding.Key {
	for i := 0; ; i++ {
		key := sharding.Key{ClusterUID: clusterUID, Namespace: namespace, Name: fmt.Sprintf("probe-%d", i)}
		if bucketOf(key) == bucket {
			return key
		}
	}
}

func (p *Prober) set(*Replica) error {
	p.news = make([]chan struct{}, buckets)
	for b := range p.news {
		p.news[b] = make(chan struct{}, 1)
	}
	return nil
}

func (p *Prober) gained(buckets []int) {
	for _, b := range buckets {
		select {
		case p.news[b] <- struct{}{}:
		default:
		}
	}
}

func (*Prober) lost([]int) {}

func (p *Prober) run(ctx context.Context, r *Replica) {
	var probing sync.WaitGroup
	defer probing.Wait()
	for b, gained := range p.news {
		key := r.world.probes[b]
		probing.Go(func() {
			timer := time.NewTimer(0)
			defer timer.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-timer.C:
				case <-gained:
				}
				if p.pass(ctx, r, key) {
					timer.Reset(probeEvery)
				} else {
					timer.Reset(knockEvery)
				}
			}
		})
	}
}

// pass is a simulated reconcile. It reports whether the replica could enter.
func (p *Prober) pass(ctx context.Context, r *Replica, key sharding.Key) bool {
	token, ok := r.Enter(ctx, key)
	if !ok {
		return false
	}
	defer token.Exit()
	epoch := token.Epoch()
	ctx = vsphere.WithFence(token.Context(), token.Check)
	ctx = vsphere.WithOperation(ctx, fmt.Sprintf("vmgroup-%d.%d-", epoch.Generation, epoch.Number))
	for range 2 {
		if r.wire.Touch(ctx, key.Name) != nil {
			break
		}
	}
	return true
}

// dense makes calls take up to a second.
func (w *World) dense(c history.Call) (Travel, bool) {
	return Travel{time.Millisecond, time.Duration(w.float() * float64(time.Second))}, c.Method == "Touch"
}
