// Package massdeletion detects when so many VMs of a member are about to leave that this is more likely an accident than intended. It is pure: a caller that watches the groups
// passes their data and the time. The same input gives the same result.
package massdeletion
