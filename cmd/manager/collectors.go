package main

import (
	"errors"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/codeconnect/vmgroup-operator/internal/controller/vcenter/vcentermetrics"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/fleet/collect"
	definitions "github.com/codeconnect/vmgroup-operator/internal/metrics"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// registerFleet has the registry show the build, what the fleet counts of the groups that this replica holds, and what it sees
// of vCenters.
func registerFleet(registry prometheus.Registerer, known *fleet.Fleet, replica *sharding.Replica, vcenters vcentermetrics.Source) error {
	build := definitions.BuildInfo.NewGauge()
	build.WithLabelValues(version, revision(), runtime.Version()).Set(1)
	return errors.Join(registry.Register(build),
		registry.Register(collect.Collector{Fleet: known, Shards: replica, Clock: clock.RealClock{}}),
		registry.Register(vcentermetrics.Collector{VCenters: vcenters, Leader: replica, Clock: clock.RealClock{}}))
}

// revision is the commit that the program was built from, or "unknown".
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
