package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReleaseAnnotation on a VmGroup that is being deleted, with the group's own UID, keeps its VMs: they stay as they are, with their stamp and their
// charge in quotas, the hub gets a receipt for them, and the group goes. On a group that is not being deleted it does nothing.
const ReleaseAnnotation = "vm.codeconnect.vmworld.com/release"

// ForgetAnnotation on a VmGroup that is being deleted, with the group's own UID, lets it go though its vCenter is gone for good. It counts only with a hub
// administrator's word: see [AllowForgetAnnotation].
const ForgetAnnotation = "vm.codeconnect.vmworld.com/forget"

// AllowForgetAnnotation on a VCenter is a time, in RFC 3339, until which its groups may be forgotten. Where the VCenter is deleted, it is set on the MemberCluster
// of the groups. It counts only within the hour before it.
const AllowForgetAnnotation = "vm.codeconnect.vmworld.com/allow-forget-until"

// ReleaseAsked reports whether somebody wants the VMs of this very object, which is being deleted, to be kept.
func ReleaseAsked(object metav1.Object) bool { return askedOf(object, ReleaseAnnotation) }

// ForgetAsked reports whether somebody wants this very object, which is being deleted, to go without its vCenter.
func ForgetAsked(object metav1.Object) bool { return askedOf(object, ForgetAnnotation) }

func askedOf(object metav1.Object, annotation string) bool {
	uid := object.GetUID()
	return uid != "" && object.GetDeletionTimestamp() != nil && object.GetAnnotations()[annotation] == string(uid)
}

// KeepingAsked reports whether this object is being deleted and has an annotation whose user wants its VMs to stay, whether that annotation has an effect or not.
// Such a VmGroup destroys nothing.
func KeepingAsked(object metav1.Object) bool {
	_, releases := object.GetAnnotations()[ReleaseAnnotation]
	_, forgets := object.GetAnnotations()[ForgetAnnotation]
	return object.GetDeletionTimestamp() != nil && (releases || forgets)
}
