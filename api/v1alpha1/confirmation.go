package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ConfirmDeletionAnnotation on an object, with that object's own UID, confirms its deletion. It does not confirm the deletion of a copy, or
// of a new object with the same name. On a VmGroup, it also allows removal of its VMs during a mass deletion in its member. On a Namespace,
// it does so for all VmGroups in the namespace.
const ConfirmDeletionAnnotation = "vm.codeconnect.vmworld.com/confirm-deletion"

// DeletionConfirmed reports whether a user confirmed the deletion of this very object.
func DeletionConfirmed(object metav1.Object) bool {
	uid := object.GetUID()
	return uid != "" && object.GetAnnotations()[ConfirmDeletionAnnotation] == string(uid)
}
