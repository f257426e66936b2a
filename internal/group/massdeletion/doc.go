// Package massdeletion notices when so many VMs of a member are about to leave that it is more likely an accident than a wish. It is
// pure: what it knows of groups is handed to it, by whoever watches them, and time with every call. Two who were told the same say the same.
package massdeletion
