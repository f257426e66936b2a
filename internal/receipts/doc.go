// Package receipts keeps on the hub what became of VMs whose group let them go.
//
// A group that is deleted may keep its VMs (release), or may have to leave them behind in a vCenter that is gone for good (forget). Then the object
// that knew the VMs goes, and its finalizer with it. The receipt is written before: it says which VMs there were, where, who let them go and when. A new
// group that takes such VMs (adopt) claims the receipt first, so that two groups never take the same VMs.
//
// A receipt is a ConfigMap in the release namespace, one for each group, so only whoever may write there can forge one. Every read asks the API server:
// receipts are read seldom, and who decides by an old copy could take VMs twice.
package receipts
