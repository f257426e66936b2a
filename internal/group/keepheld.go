package group

import (
	"fmt"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// keepHold keeps the VMs of a group that is being deleted, if an annotation that asks to keep VMs has no effect now. It returns nil for any other group. No confirmation ends
// this hold: one annotation asks to destroy, the other to keep, and a destroyed VM does not come back.
func (s *Snapshot) keepHold() *plan.RemovalHold {
	if s.releases() || !v1alpha1.KeepingAsked(s.Group) || !s.destroys() {
		return nil
	}
	reason, why := v1alpha1.ReasonForgetHeld, []string{}
	remove := "kubectl annotate vmgroup " + s.Group.Name + " -n " + s.Group.Namespace
	forget, forgets := s.Group.Annotations[v1alpha1.ForgetAnnotation]
	switch {
	case !forgets:
		reason = v1alpha1.ReasonReleaseHeld
	case forget == string(s.Group.UID):
		why = append(why, fmt.Sprintf("annotation %s deletes a VmGroup whose vCenter no longer exists, and VCenter %q responds", v1alpha1.ForgetAnnotation, s.VCenter))
	default:
		why = append(why, s.notItsUID(v1alpha1.ForgetAnnotation, forget))
	}
	if forgets {
		remove += " " + v1alpha1.ForgetAnnotation + "-"
	}
	if release, releases := s.Group.Annotations[v1alpha1.ReleaseAnnotation]; releases {
		why = append(why, s.notItsUID(v1alpha1.ReleaseAnnotation, release))
		remove += " " + v1alpha1.ReleaseAnnotation + "-"
	}
	return &plan.RemovalHold{Until: s.Now.Add(unwatchedInterval), Blocker: plan.Blocker{Reason: reason, Terminal: true, Message: fmt.Sprintf(
		"%s. The VmGroup is being deleted and keeps its VMs until you decide. To keep the VMs: %s. To destroy the VMs: %s",
		strings.Join(why, "; "), s.toKeep(), remove)}}
}

func (s *Snapshot) notItsUID(annotation, value string) string {
	return fmt.Sprintf("annotation %s is %q, which is not the UID of this VmGroup, and has no effect", annotation, untrusted.Text(value, 40))
}

// destroys reports whether VMs of the group are destroyed when it is deleted.
func (s *Snapshot) destroys() bool {
	return s.Group.Spec.DeletionPolicy != v1alpha1.DeletionRetain
}

// asksToKeep reports whether keepHold holds VMs.
func (f Facts) asksToKeep() bool {
	held := f.Plan.Held
	return held != nil && (held.Reason == v1alpha1.ReasonForgetHeld || held.Reason == v1alpha1.ReasonReleaseHeld)
}
