package vmgroup

import (
	"context"
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// contradicted reports something that a member shows and that cannot be true.
func (r *Reconciler) contradicted(ctx context.Context, member, reason, note string) {
	if r.MemberEvents != nil {
		r.MemberEvents.Contradict(ctx, member, reason, note)
	}
}

// sharedUID reports two groups of different members with one UID, on both MemberClusters: which of them lies is not known.
func (r *Reconciler) sharedUID(ctx context.Context, twins fleet.Twins) {
	for _, of := range [][2]fleet.Ref{{twins.One, twins.Other}, {twins.Other, twins.One}} {
		r.contradicted(ctx, of[0].Member, v1alpha1.EventSharedGroupUID, fmt.Sprintf(
			"VmGroup %s has the UID of VmGroup %s of member %q (%s). No two have the same by chance: the API server of one member lies, or its storage is a copy of the other's. "+
				"Both groups are served, each with its own VMs. %s",
			untrusted.Name(of[0].Namespace+"/"+of[0].Name), untrusted.Name(of[1].Namespace+"/"+of[1].Name), of[1].Member, untrusted.Name(twins.UID), pauseAdvice(of[0].Member)))
	}
}

// foreignRecord reports a status that names a folder or a VM of others.
func (r *Reconciler) foreignRecord(ctx context.Context, s *group.Snapshot) {
	if s.ForeignRecord == "" {
		return
	}
	r.contradicted(ctx, s.Member, v1alpha1.EventForeignRecord, fmt.Sprintf(
		"The status of VmGroup %s names %s. That does not count, and nothing was done there. Only the operator writes status: a user of the member wrote that value, or its "+
			"API server did. %s", untrusted.Name(s.Group.Namespace+"/"+s.Group.Name), s.ForeignRecord, pauseAdvice(s.Member)))
}

func pauseAdvice(member string) string {
	return fmt.Sprintf(`Ask the member's administrator. Until that is clear you can stop serving it: kubectl patch membercluster %s --type=merge -p '{"spec":{"paused":true}}'`, member)
}
