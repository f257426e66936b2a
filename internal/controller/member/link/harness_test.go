package link

import (
	"testing"

	"k8s.io/utils/clock"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// oneBucket is a shard map with one bucket.
type oneBucket struct{}

func (oneBucket) Bucket(sharding.Key) int { return 0 }

func (oneBucket) Holds(sharding.Key) bool { return true }

func newFleet() *fleet.Fleet {
	return fleet.New(clock.RealClock{}, massdeletion.DefaultRules(), oneBucket{})
}

func newProvider(t *testing.T, leader sharding.Leader) *Provider {
	t.Helper()
	p, err := NewProvider(settings.Options{Namespace: "operator", InstallationUID: "one", Fleet: newFleet(), Leader: leader})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
