package vmgroup

import (
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Reasons of events on a MemberCluster whose API server says what cannot be so.
const (
	// reasonForeignRecord: a group's status names a folder or a VM of others.
	reasonForeignRecord = "ForeignRecord"
	// reasonSharedGroupUID: two members show groups with one UID.
	reasonSharedGroupUID = "SharedGroupUID"
)

// contradictionInterval is how often an event tells of a member and a reason at most: an API server that lies may do so at any rate.
const contradictionInterval = 10 * time.Minute

type contradiction struct{ member, reason string }

// contradicted has the hub's administrator told of something that a member says and that cannot be so.
func (r *Reconciler) contradicted(member, reason, note string) {
	if r.Contradicted == nil {
		return
	}
	more, tell := r.contradictions.Next(contradiction{member, reason}, r.Now(), contradictionInterval)
	if !tell {
		return
	}
	if more > 0 {
		note += fmt.Sprintf(" Found again since the last such event: %d.", more)
	}
	r.Contradicted(member, reason, note)
}

// sharedUID tells of two groups of different members with one UID, on both MemberClusters: which of them lies is not known.
func (r *Reconciler) sharedUID(twins fleet.Twins) {
	for _, of := range [][2]fleet.Ref{{twins.One, twins.Other}, {twins.Other, twins.One}} {
		r.contradicted(of[0].Member, reasonSharedGroupUID, fmt.Sprintf(
			"VmGroup %s has the UID of VmGroup %s of member %q (%s). No two have the same by chance: the API server of one member lies, or its storage is a copy of the other's. "+
				"Both groups are served, each with its own VMs. %s",
			untrusted.Name(of[0].Namespace+"/"+of[0].Name), untrusted.Name(of[1].Namespace+"/"+of[1].Name), of[1].Member, untrusted.Name(twins.UID), pauseAdvice(of[0].Member)))
	}
}

// foreignRecord tells of a status that names what is another's.
func (r *Reconciler) foreignRecord(s *group.Snapshot) {
	if s.ForeignRecord == "" {
		return
	}
	r.contradicted(s.Member, reasonForeignRecord, fmt.Sprintf(
		"The status of VmGroup %s names %s. That does not count, and nothing was done there. Nobody but the operator writes status: somebody in the member made that up, or its "+
			"API server did. %s", untrusted.Name(s.Group.Namespace+"/"+s.Group.Name), s.ForeignRecord, pauseAdvice(s.Member)))
}

func pauseAdvice(member string) string {
	return fmt.Sprintf(`Ask the member's administrator. Until that is clear you can stop serving it: kubectl patch membercluster %s --type=merge -p '{"spec":{"paused":true}}'`, member)
}
