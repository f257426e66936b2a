// Package receipts records on the hub what happened to VMs whose group no longer manages them.
//
// A deleted group can keep its VMs (release), or leave them behind in a vCenter that was permanently lost (forget). Then the
// object that lists the VMs is deleted with its finalizer. The operator writes the receipt before: it lists the VMs, their
// location, and the user and time of the request. A new group that adopts such VMs (adopt) claims the receipt first, so that
// two groups never adopt the same VMs.
//
// A receipt is a ConfigMap in the release namespace, one for each group, so only users with write access to that namespace can forge
// one. Every read uses the API server: receipts are rarely read, and a decision by an outdated copy could adopt VMs twice.
package receipts
