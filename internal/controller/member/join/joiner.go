// Package join makes a cluster a member: it pins the MemberCluster to the cluster, claims the member, ensures its CRD, and
// maintains all of that while the member is engaged.
package join

import (
	"sync/atomic"

	"github.com/go-logr/logr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// Link is the connection to a member that is joined. Its notes appear in status.
type Link interface {
	// Leading reports whether the operator can write to the member now.
	sharding.Leader
	// Wake has the member checked soon; it never blocks.
	Wake()
	NoteVersion(kubernetes string)
	NoteClaim(install.Finding)
	NoteCRD(found install.Finding, version string)
}

// heldClaim is the finding of a claim that this installation holds.
var heldClaim = install.Finding{OK: true, Reason: v1alpha1.ReasonClaimed, Message: "This installation holds the claim on the member."}

// Joiner joins one incarnation of a member.
type Joiner struct {
	options *settings.Options
	of      *settings.Target
	link    Link
	log     logr.Logger

	// crdDoubted: a watch of VmGroups was answered that the kind does not exist.
	crdDoubted atomic.Bool
	// deletionSeen: a group was deleted since the last check of the CRD.
	deletionSeen atomic.Bool
	// equipped: this incarnation has checked the CRD with the right to change it, and still has it. Only the goroutine of the link uses it.
	equipped bool
	// version of the CRD, as last noted.
	version string
}

// NewJoiner does nothing in the member yet.
func NewJoiner(o *settings.Options, of *settings.Target, link Link, log logr.Logger) *Joiner {
	return &Joiner{options: o, of: of, link: link, log: log}
}

// note reports the state of the CRD.
func (j *Joiner) note(found install.Finding, version string) {
	j.version = version
	j.link.NoteCRD(found, version)
}
