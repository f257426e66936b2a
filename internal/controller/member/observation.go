package member

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/admission"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// phase of a connection, as far as status is concerned.
type phase int

const (
	// phaseConnecting: the first attempt of this incarnation has not ended, or it waits for the replica that leads to
	// claim or equip the member. Nothing is wrong yet.
	phaseConnecting phase = iota
	// phaseFailing: the last attempt failed; the problem says why. The member is not engaged.
	phaseFailing
	// phaseEngaged: the member is engaged. A problem means that it stopped answering since.
	phaseEngaged
)

// observation is what a connection last saw of its member. It is a value: copies are independent, and the
// findings it points to are never changed.
type observation struct {
	phase phase
	// awaited: the first attempt ended where the leader has not been yet.
	awaited           bool
	problem           *remote.Problem
	clusterUID        string
	kubernetesVersion string
	crdVersion        string
	claim             *install.Finding
	crd               *install.Finding
	// admission is nil while this replica has not looked after the admission objects, or not since it leads.
	admission *admission.Finding
	// acknowledged is the hash of the CA bundle in the webhook configurations that the member accepted last, "" when it
	// has none; nil is "not known".
	acknowledged *string
	// segment is the period of the path segment in them, if acknowledged is not nil.
	segment int64
	// lastContact is when the member last answered.
	lastContact time.Time
	// engagedAt is when the member was engaged, zero when it is not.
	engagedAt time.Time
	// restoredAt is when the member's storage was found to have gone back to a backup, zero if it was not.
	restoredAt time.Time
}

// NoteVersion implements join.Link.
func (c *connection) NoteVersion(kubernetes string) {
	c.update(func(seen *observation) { seen.kubernetesVersion = kubernetes })
}

// NoteClaim implements join.Link.
func (c *connection) NoteClaim(found install.Finding) {
	c.update(func(seen *observation) { seen.claim = &found })
}

// NoteCRD implements join.Link.
func (c *connection) NoteCRD(found install.Finding, version string) {
	c.update(func(seen *observation) { seen.crd, seen.crdVersion = &found, version })
}
