package model

import (
	"errors"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

var errConflict = errors.New("the object has been modified")

// apiServer stores the group. Returned objects never change.
type apiServer struct {
	world   *world
	group   *v1alpha1.VmGroup // nil after the deletion
	version int
	// before is an edit right before the next write of status, which therefore conflicts.
	before func(*v1alpha1.VmGroup)
}

// backup is a copy of the group. edited is true if an edit was in progress then.
type backup struct {
	group  *v1alpha1.VmGroup
	edited bool
}

// store stores next and wakes the operator.
func (a *apiServer) store(next *v1alpha1.VmGroup) {
	a.version++
	next.ResourceVersion = strconv.Itoa(a.version)
	a.group = next
	a.world.op.wake("the group changed")
}

// edit changes the group as a user does. An edit of spec raises the generation.
func (a *apiServer) edit(change func(*v1alpha1.VmGroup)) {
	if a.group == nil {
		return
	}
	next := a.group.DeepCopy()
	change(next)
	if equality.Semantic.DeepEqual(next, a.group) {
		return
	}
	if !equality.Semantic.DeepEqual(next.Spec, a.group.Spec) {
		next.Generation++
		a.world.audit.edited(a.world, a.group, next)
	}
	a.store(next)
}

// spec changes the group's spec.
func (a *apiServer) spec(change func(*v1alpha1.VmGroupSpec)) {
	a.edit(func(g *v1alpha1.VmGroup) { change(&g.Spec) })
}

func (a *apiServer) annotate(key, value string) {
	a.edit(func(g *v1alpha1.VmGroup) {
		if value == "" {
			delete(g.Annotations, key)
			return
		}
		g.Annotations[key] = value
	})
}

// remove deletes the group. It stays while it has a finalizer.
func (a *apiServer) remove() {
	switch {
	case a.group == nil || a.group.DeletionTimestamp != nil:
	case len(a.group.Finalizers) == 0:
		a.group = nil
	default:
		next := a.group.DeepCopy()
		next.Generation++
		next.DeletionTimestamp = &metav1.Time{Time: a.world.now}
		a.store(next)
	}
}

// writeStatus is the operator's write with an optimistic lock.
func (a *apiServer) writeStatus(read *v1alpha1.VmGroup, status *v1alpha1.VmGroupStatus) (*v1alpha1.VmGroup, error) {
	if change := a.before; change != nil {
		a.before = nil
		a.edit(change)
	}
	if a.group == nil || a.group.ResourceVersion != read.ResourceVersion {
		return nil, errConflict
	}
	next := a.group.DeepCopy()
	next.Status = *status.DeepCopy()
	a.store(next)
	return next, nil
}

// finalize adds or removes the operator's finalizer.
func (a *apiServer) finalize(read *v1alpha1.VmGroup, has bool) (*v1alpha1.VmGroup, error) {
	if a.group == nil || a.group.ResourceVersion != read.ResourceVersion {
		return nil, errConflict
	}
	next := a.group.DeepCopy()
	next.Finalizers = slices.DeleteFunc(next.Finalizers, func(f string) bool { return f == v1alpha1.VmGroupFinalizer })
	if has {
		next.Finalizers = append(next.Finalizers, v1alpha1.VmGroupFinalizer)
	}
	a.store(next)
	if next.DeletionTimestamp != nil && len(next.Finalizers) == 0 {
		a.group = nil
	}
	return next, nil
}

// deleting reports whether the group exists and is being deleted.
func (a *apiServer) deleting() bool { return a.group != nil && a.group.DeletionTimestamp != nil }

// replicas returns the number of replicas in spec.
func replicas(spec *v1alpha1.VmGroupSpec) int { return int(ptr.Deref(spec.Replicas, 1)) }
