// Package join makes a cluster a member: it pins the MemberCluster to the cluster, claims the member, sees to its CRD, and
// keeps all of that up while the member is engaged.
package join

import (
	"sync/atomic"

	"github.com/go-logr/logr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// Link is the connection to a member that is joined. What it is told of shows in status.
type Link interface {
	// Leading reports whether the member may be written to now.
	sharding.Leader
	// Wake has the member looked at soon; it never blocks.
	Wake()
	NoteVersion(kubernetes string)
	NoteClaim(install.Finding)
	NoteCRD(found install.Finding, version string)
}

// heldClaim is what there is to say of a claim that is ours.
var heldClaim = install.Finding{OK: true, Reason: v1alpha1.ReasonClaimed, Message: "This installation holds the claim on the member."}

// Joiner joins one incarnation of a member.
type Joiner struct {
	options *settings.Options
	of      *settings.Target
	link    Link
	log     logr.Logger

	// crdDoubted: a watch of VmGroups was told that there is no such kind.
	crdDoubted atomic.Bool
	// deletionSeen: a group was deleted since the CRD was looked at last.
	deletionSeen atomic.Bool
	// equipped: this incarnation has looked at the CRD with the right to change it, and has it still. Only the goroutine of the link uses it.
	equipped bool
	// version of the CRD, as last noted.
	version string
}

// NewJoiner does nothing in the member yet.
func NewJoiner(o *settings.Options, of *settings.Target, link Link, log logr.Logger) *Joiner {
	return &Joiner{options: o, of: of, link: link, log: log}
}

// note tells of the CRD.
func (j *Joiner) note(found install.Finding, version string) {
	j.version = version
	j.link.NoteCRD(found, version)
}
