package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ConfirmDeletionAnnotation on an object, with that object's own UID, says that its deletion is meant. A copy of the object, and one that is
// made anew under its name, is not confirmed by it. On a VmGroup it also lets its VMs be removed though many others of its member are, too; on
// a Namespace it does so for all VmGroups in it.
const ConfirmDeletionAnnotation = "vm.codeconnect.vmworld.com/confirm-deletion"

// DeletionConfirmed reports whether somebody said that the deletion of this very object is meant.
func DeletionConfirmed(object metav1.Object) bool {
	uid := object.GetUID()
	return uid != "" && object.GetAnnotations()[ConfirmDeletionAnnotation] == string(uid)
}
