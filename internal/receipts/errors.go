package receipts

import "fmt"

// UnreadableError means that a ConfigMap has the name of a receipt, but its content cannot be used. It is never overwritten.
type UnreadableError struct {
	// ConfigMap is its name.
	ConfigMap string
	// Problem is the error in its content.
	Problem string
}

// Error implements error.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("the receipt in ConfigMap %q of the operator's namespace cannot be read: %s. If no newer operator runs, put it right or delete it "+
		"(kubectl delete configmap %s -n <namespace of the operator>)", e.ConfigMap, e.Problem, e.ConfigMap)
}

// ClaimedError means that another group adopts or has adopted the VMs.
type ClaimedError struct{ By Adopter }

// Error implements error.
func (e *ClaimedError) Error() string {
	return fmt.Sprintf("the VMs were taken by group %s/%s (UID %s)", e.By.Namespace, e.By.Group, e.By.GroupUID)
}

// TooLargeError means that a receipt exceeds the size limit for its number of VMs. It is not written.
type TooLargeError struct {
	// Group is the namespace and name of the group, safe for display.
	Group string
	// Bytes is its size, and Most the limit.
	Bytes, Most int
}

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the receipt of group %s has %d bytes, and may have %d: check the VmGroup's status, which names VMs, a folder or an instance UUID that no operator wrote",
		e.Group, e.Bytes, e.Most)
}
