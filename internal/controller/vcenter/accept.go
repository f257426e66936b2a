package vcenter

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// acceptFor is how long v1alpha1.AcceptEmptyAnnotation stays after the leader has seen it: every replica pauses its own
// connection and must see the annotation.
const acceptFor = 10 * time.Second

// acceptance is an annotation that this replica has seen.
type acceptance struct {
	value string
	since time.Time
	// used is true after the annotation ended a pause. It is valid for one pause.
	used bool
}

// acceptEmpty ends the pause after a sudden emptiness that a user accepts. The annotation is valid once. If it stayed,
// it would accept the next accident as well, so the leader removes it after a while. acceptEmpty returns the time until
// the next check, or zero.
func (r *Reconciler) acceptEmpty(ctx context.Context, vc *v1alpha1.VCenter, current Connection) (again time.Duration, err error) {
	value, ok := vc.Annotations[v1alpha1.AcceptEmptyAnnotation]
	if !ok {
		r.forgetAcceptance(vc.Name)
		return 0, nil
	}
	health := current.Health()
	if !health.Reachable || (!health.Complete && !health.SuddenlyEmpty) {
		return 0, nil
	}
	use, since := r.noteAcceptance(vc.Name, value, health.SuddenlyEmpty && value == health.InstanceUUID)
	if use {
		current.AcceptEmpty()
	}
	if !r.leading() {
		return 0, nil
	}
	if left := acceptFor - r.Now().Sub(since); left > 0 {
		return left, nil
	}
	base := vc.DeepCopy()
	delete(vc.Annotations, v1alpha1.AcceptEmptyAnnotation)
	// With the version that was read, the patch does not remove a new, unseen value.
	if err := r.Client.Patch(ctx, vc, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return 0, fmt.Errorf("remove the used annotation: %w", err)
	}
	r.forgetAcceptance(vc.Name)
	return 0, nil
}

// noteAcceptance records the annotation's value for a VCenter, and returns since when it has the value. use is true if
// the annotation is wanted and can end a pause now.
func (r *Reconciler) noteAcceptance(name, value string, wanted bool) (use bool, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.acceptances[name]
	if !ok || a.value != value {
		a = acceptance{value: value, since: r.Now()}
	}
	use = wanted && !a.used
	a.used = a.used || use
	if r.acceptances == nil {
		r.acceptances = map[string]acceptance{}
	}
	r.acceptances[name] = a
	return use, a.since
}

func (r *Reconciler) forgetAcceptance(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.acceptances, name)
}
