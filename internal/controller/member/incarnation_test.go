//go:build unix && !fast

package member

import (
	"context"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/link"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// stallingCache does not end before it is released, like one with a stuck informer.
type stallingCache struct {
	cache.Cache
	released chan struct{}
}

func (c *stallingCache) Start(ctx context.Context) error {
	err := c.Cache.Start(ctx)
	<-c.released
	return err
}

func TestNewIncarnationWaitsForTheEndOfTheOldOne(t *testing.T) {
	servers := clustersForTest(t)
	released := make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	stalling := func(o *cluster.Options) {
		o.NewCache = func(config *rest.Config, opts cache.Options) (cache.Cache, error) {
			inner, err := cache.New(config, opts)
			return &stallingCache{inner, released}, err
		}
	}
	in := installed(t, servers.hub, "incarnation", func(o *testOptions) { o.ClusterOptions = []cluster.Option{stalling} })
	t.Cleanup(release)
	in.join("alpha", servers.alpha.Kubeconfig())
	in.awaitEngaged("alpha")
	rotated, err := servers.alpha.UserKubeconfig("incarnation", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	in.putKubeconfig("alpha", rotated)
	await.NoError(t, "the old incarnation to be disengaged", func() error {
		if _, err := in.provider.Get(t.Context(), "alpha"); err == nil {
			return context.DeadlineExceeded
		}
		return nil
	})
	// The time of a join is enough for the new incarnation as well, if it did not wait. No other
	// goroutine waits.
	in.join("beta", servers.beta.Kubeconfig())
	in.awaitEngaged("beta")
	if _, ok := in.opts.Fleet.Member("alpha"); ok {
		t.Error("two incarnations of one member run")
	}
	if seen := in.provider.Observe("alpha"); seen.State != link.Queued || seen.ClusterUID != "" {
		t.Error("the new incarnation talked to the member before the old one had ended")
	}
	release()
	in.awaitEngaged("alpha")
	await.NoError(t, "handle of the new incarnation", func() error {
		_, err := in.provider.Get(t.Context(), "alpha")
		return err
	})
}
