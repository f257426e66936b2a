package link

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/admission"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// Observation is what a connection last saw of its member. It is a value: copies are independent, and the
// findings it points to are never changed.
type Observation struct {
	State State
	// Problem is why the last attempt failed, or why an engaged member is Silent; nil if nothing is wrong.
	Problem           *remote.Problem
	ClusterUID        string
	KubernetesVersion string
	CRDVersion        string
	Claim             *install.Finding
	CRD               *install.Finding
	// Admission is nil while this replica has not looked after the admission objects, or not since it leads.
	Admission *admission.Finding
	// Acknowledged is the hash of the CA bundle in the webhook configurations that the member accepted last, "" when it
	// has none; nil is "not known".
	Acknowledged *string
	// Segment is the period of the path segment in them, if Acknowledged is not nil.
	Segment int64
	// LastContact is when the member last answered.
	LastContact time.Time
	// EngagedAt is when the member was engaged, zero when it is not.
	EngagedAt time.Time
	// RestoredAt is when the member's storage was found to have gone back to a backup, zero if it was not.
	RestoredAt time.Time
	// Commissioned: this replica led and had put the finalizer when the controller looked last; see [connection.Leading].
	Commissioned bool
	// tried: an attempt has ended, or the member is engaged; false again while its caches are filled anew.
	tried bool
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
