// Package membermetrics reports what a replica sees of members.
package membermetrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/codeconnect/vmgroup-operator/internal/metrics"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// Member is what this replica sees of one.
type Member struct {
	Name string
	// Up is true while the member is served and responds.
	Up bool
	// Reason of condition Ready as this replica sees it.
	Reason string
	// Admission is whether the admission objects are in place. It is nil if the operator installs none, and before the leader has
	// checked.
	Admission *bool
	// AllowedUntil is until when the mass-deletion breaker is switched off, or zero while it is not.
	AllowedUntil time.Time
	// Expires is when the first of the credentials expires, that of Identity. It is zero while that is far ahead, or unknown, and if the operator
	// renews it. Renews is when the operator should have renewed it. It is zero unless that is overdue.
	Expires, Renews time.Time
	Identity        string
}

// Source is what sees members. *member.Provider implements it.
type Source interface {
	// Seen returns the observations of each MemberCluster, from memory.
	Seen() []Member
}

// Collector reports what this replica sees of each member, and while it leads, the state of admission objects.
type Collector struct {
	Members Source
	Leader  sharding.Leader
	// Served is the reason of a member that is served, which has no series.
	Served string
}

// Describe implements prometheus.Collector.
func (c Collector) Describe(out chan<- *prometheus.Desc) {
	metrics.Describe(out, metrics.MemberUp, metrics.MemberStatus, metrics.MemberAdmissionReady, metrics.MassDeletionAllowedUntil, metrics.MemberCredentialExpires,
		metrics.MemberCredentialRenews)
}

// Collect implements prometheus.Collector.
func (c Collector) Collect(out chan<- prometheus.Metric) {
	leads := c.Leader.Leading()
	for _, m := range c.Members.Seen() {
		out <- metrics.MemberUp.Value(number(m.Up), m.Name)
		if m.Reason != c.Served && m.Reason != "" {
			out <- metrics.MemberStatus.Value(1, m.Name, m.Reason)
		}
		if leads && m.Admission != nil {
			out <- metrics.MemberAdmissionReady.Value(number(*m.Admission), m.Name)
		}
		if !m.AllowedUntil.IsZero() {
			out <- metrics.MassDeletionAllowedUntil.Value(float64(m.AllowedUntil.Unix()), m.Name)
		}
		if !m.Expires.IsZero() {
			out <- metrics.MemberCredentialExpires.Value(float64(m.Expires.Unix()), m.Name, m.Identity)
		}
		if !m.Renews.IsZero() {
			out <- metrics.MemberCredentialRenews.Value(float64(m.Renews.Unix()), m.Name, m.Identity)
		}
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
