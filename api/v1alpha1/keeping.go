package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReleaseAnnotation on a VmGroup that is being deleted, with the group's own UID, keeps its VMs. The VMs keep their state, their stamp and
// their charge in quotas. The hub gets a receipt for them, then the group is deleted. On a group that is not being deleted, it has no
// effect.
const ReleaseAnnotation = "vm.codeconnect.vmworld.com/release"

// ForgetAnnotation on a VmGroup that is being deleted, with the group's own UID, deletes the group although its vCenter is permanently
// lost. It needs a hub administrator's approval: see [AllowForgetAnnotation].
const ForgetAnnotation = "vm.codeconnect.vmworld.com/forget"

// AllowForgetAnnotation on a VCenter is a time, in RFC 3339, until which annotation forget takes effect on its groups. If the VCenter is
// deleted, set it on the MemberCluster of the groups. It has an effect only within the hour before that time.
const AllowForgetAnnotation = "vm.codeconnect.vmworld.com/allow-forget-until"

// ReleaseAsked reports whether this very object is being deleted and a user asked to keep its VMs.
func ReleaseAsked(object metav1.Object) bool { return askedOf(object, ReleaseAnnotation) }

// ForgetAsked reports whether this very object is being deleted and a user asked to delete it without its vCenter.
func ForgetAsked(object metav1.Object) bool { return askedOf(object, ForgetAnnotation) }

func askedOf(object metav1.Object, annotation string) bool {
	uid := object.GetUID()
	return uid != "" && object.GetDeletionTimestamp() != nil && object.GetAnnotations()[annotation] == string(uid)
}

// KeepingAsked reports whether this object is being deleted and has annotation release or forget, with any value. Such a VmGroup destroys
// no VM.
func KeepingAsked(object metav1.Object) bool {
	_, releases := object.GetAnnotations()[ReleaseAnnotation]
	_, forgets := object.GetAnnotations()[ForgetAnnotation]
	return object.GetDeletionTimestamp() != nil && (releases || forgets)
}
