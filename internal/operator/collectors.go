package operator

import (
	"errors"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/membermetrics"
	"github.com/codeconnect/vmgroup-operator/internal/controller/policy/policymetrics"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vcenter/vcentermetrics"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/queuemetrics"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/fleet/collect"
	definitions "github.com/codeconnect/vmgroup-operator/internal/metrics"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotametrics"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// registerFleet registers metrics about the build, and about the groups that this replica holds.
func registerFleet(registry prometheus.Registerer, version string, known *fleet.Fleet, replica *sharding.Replica) error {
	build := definitions.BuildInfo.NewGauge()
	build.WithLabelValues(version, revision(), runtime.Version()).Set(1)
	return errors.Join(registry.Register(build), registry.Register(collect.Collector{Fleet: known, Shards: replica, Clock: clock.RealClock{}}))
}

// views are the sources of metrics of this replica.
type views struct {
	vcenters vcentermetrics.Source
	members  membermetrics.Source
	policies policymetrics.Source
	quotas   quotametrics.Source
	queue    queuemetrics.Source
}

// registerViews registers metrics of this replica's view, and of the counts of the leader.
func registerViews(registry prometheus.Registerer, leader sharding.Leader, of views) error {
	return errors.Join(
		registry.Register(vcentermetrics.Collector{VCenters: of.vcenters, Leader: leader, Clock: clock.RealClock{}}),
		registry.Register(membermetrics.Collector{Members: of.members, Leader: leader, Served: v1alpha1.ReasonEngaged}),
		registry.Register(policymetrics.Collector{Policies: of.policies, Leader: leader}),
		registry.Register(quotametrics.Collector{Quotas: of.quotas, Leader: leader}),
		registry.Register(queuemetrics.Collector{Queue: of.queue}),
	)
}

// revision returns the commit that the program was built from, or "unknown".
func revision() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}
