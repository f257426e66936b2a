package link

import (
	"maps"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/admission"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// Observation is what a connection last observed of its member. It is a value: copies are independent, and the
// findings it points to are never changed.
type Observation struct {
	State State
	// Problem is why the last attempt failed, or why an engaged member is Silent; nil if there is none.
	Problem           *remote.Problem
	ClusterUID        string
	KubernetesVersion string
	CRDVersion        string
	Claim             *install.Finding
	CRD               *install.Finding
	// Admission is nil if this replica has not checked the admission objects, or not since it leads.
	Admission *admission.Finding
	// Acknowledged is the hash of the CA bundle in the webhook configurations that the member accepted last, "" if it has
	// none; nil is "not known".
	Acknowledged *string
	// Segment is the period of the path segment in them, if Acknowledged is not nil.
	Segment int64
	// LastContact is the time of the member's last answer.
	LastContact time.Time
	// EngagedAt is when the member was engaged, zero when it is not.
	EngagedAt time.Time
	// RestoredAt is when the operator detected that the member's storage went back to a backup, zero if it did not.
	RestoredAt time.Time
	// Renewal is why the last attempt to renew a token failed, by identity. It has no entry for a token that needs none.
	Renewal map[string]string
	// Commissioned: at the controller's last check, this replica led and had set the finalizer; see [connection.Leading].
	Commissioned bool
	// tried: an attempt has ended, or the member is engaged; false again while its caches are refilled.
	tried bool
}

// NoteRenewal implements renewal.Link.
func (c *connection) NoteRenewal(identity, failed string) {
	c.update(func(seen *Observation) {
		seen.Renewal = maps.Clone(seen.Renewal) // copies are independent
		if failed == "" {
			delete(seen.Renewal, identity)
			return
		}
		if seen.Renewal == nil {
			seen.Renewal = map[string]string{}
		}
		seen.Renewal[identity] = failed
	})
}

// NoteVersion implements join.Link.
func (c *connection) NoteVersion(kubernetes string) {
	c.update(func(seen *Observation) { seen.KubernetesVersion = kubernetes })
}

// NoteClaim implements join.Link.
func (c *connection) NoteClaim(found install.Finding) {
	c.update(func(seen *Observation) { seen.Claim = &found })
}

// NoteCRD implements join.Link.
func (c *connection) NoteCRD(found install.Finding, version string) {
	c.update(func(seen *Observation) { seen.CRD, seen.CRDVersion = &found, version })
}
