package group

import (
	"fmt"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Predecessors are the UIDs of the installation whose groups and VMs this installation takes over. Member is for the groups of the member, as its MemberCluster names it. VCenter
// is for the VMs in the vCenter, as the VCenter names it, if that installation has no session there. Each is empty for none.
type Predecessors struct{ Member, VCenter string }

// Agreed returns the installation that both name, or "". A vCenter serves many members, and a member can use many vCenters: the administrator of one cannot give away objects in
// the other.
func (p Predecessors) Agreed() string {
	if p.Member == p.VCenter {
		return p.Member
	}
	return ""
}

// explainPredecessor adds the remedy to the blocker about another installation.
func (s *Snapshot) explainPredecessor(p *plan.Plan) {
	if p.StampedBy == "" {
		return
	}
	for i := range p.Blockers {
		if p.Blockers[i].Reason == v1alpha1.ReasonAnotherInstallation {
			p.Blockers = slices.Clone(p.Blockers)
			p.Blockers[i].Message += " " + s.wayOut(p.StampedBy)
		}
	}
}

// wayOut explains how to free a group whose VMs another installation stamped.
func (s *Snapshot) wayOut(installation string) string {
	if !untrusted.Plain(installation) {
		return "That is no UID: a user who can change VMs in vCenter wrote it. A hub administrator can remove the vmgroup.* keys from the configuration of these VMs, or delete them"
	}
	name := func(kind, object, named string) string {
		if named == installation {
			return ""
		}
		return fmt.Sprintf(" kubectl annotate %s %s %s=%s;", kind, object, v1alpha1.PredecessorAnnotation, installation)
	}
	missing := name("membercluster", s.Member, s.Predecessors.Member) + name("vcenter", s.VCenter, s.Predecessors.VCenter)
	return fmt.Sprintf("If that installation lives, take the member away from one of the two hubs. If it is permanently lost, a hub administrator "+
		"confirms that:%s if an object has the annotation already, its conditions have the reason", missing)
}
