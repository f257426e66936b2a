package vsphere

import (
	"errors"
	"fmt"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Kind classifies an error by the possible reaction.
type Kind string

// Error kinds.
const (
	// KindTransient: retry with backoff. No user action is needed.
	KindTransient Kind = "Transient"
	// KindBusy: another task uses the object. Retry soon.
	KindBusy Kind = "Busy"
	// KindSpec: the request is impossible until the spec or the template changes.
	KindSpec Kind = "Spec"
	// KindOffOnly: the request is possible only while the VM is powered off.
	KindOffOnly Kind = "OffOnly"
	// KindCredentials: vCenter refused the login. Wait for another Secret.
	KindCredentials Kind = "Credentials"
	// KindCertificate: the server's certificate is not trusted.
	KindCertificate Kind = "Certificate"
	// KindLimitExceeded: an answer exceeds a limit of the operator. The cause is a *session.LimitError.
	KindLimitExceeded Kind = "LimitExceeded"
	// KindPermission: the account lacks a privilege.
	KindPermission Kind = "Permission"
	// KindCapacity: vCenter has no capacity. Retry in minutes.
	KindCapacity Kind = "Capacity"
	// KindNotFound: vCenter confirmed that the object does not exist.
	KindNotFound Kind = "NotFound"
	// KindAmbiguous: more than one object has the name.
	KindAmbiguous Kind = "Ambiguous"
	// KindNotTemplate: the VM is not marked as template.
	KindNotTemplate Kind = "NotTemplate"
	// KindNameTaken: the folder already has an object with that name.
	KindNameTaken Kind = "NameTaken"
	// KindForeign: the operator does not own the object.
	KindForeign Kind = "Foreign"
	// KindForeignDisk: the VM has disks that must not be deleted with it. The cause is a *ForeignDisks.
	KindForeignDisk Kind = "ForeignDisk"
	// KindGrowthBlocked: a disk of the VM cannot grow as long as something is in the way. The cause is a *GrowthBlocked.
	KindGrowthBlocked Kind = "GrowthBlocked"
	// KindNotEmpty: the folder is not empty.
	KindNotEmpty Kind = "NotEmpty"
	// KindHoldsFolders: the folder holds only other folders. The VMs of a group lie directly in the group's folder.
	KindHoldsFolders Kind = "HoldsFolders"
	// KindConflict: the object changed after its observation.
	KindConflict Kind = "Conflict"
	// KindFenced: the caller has lost the right to act. Nothing was sent.
	KindFenced Kind = "Fenced"
)

// Error is an error of a vCenter.
type Error struct {
	Kind Kind
	// Op is the attempted operation, as a phrase: "clone vg-1-0 from debian-12".
	Op string
	// Object that the server named in the fault, if any.
	Object Ref
	// Holds lists what is in the folder besides folders, with KindNotEmpty. It is empty if the content is unknown.
	Holds []Ref
	// Privilege that is missing, with KindPermission.
	Privilege string
	// OutcomeUnknown is true if the failed request can have taken effect.
	OutcomeUnknown bool
	// Err is the cause. Its text contains no credentials.
	Err error
}

// maxError limits the text of an error, in bytes.
const maxError = 2048

// Error returns "<op>: <cause>". The text contains names and faults from vCenter, so Error sanitizes it with
// untrusted.Text.
func (e *Error) Error() string {
	if e.Err == nil {
		return untrusted.Text(fmt.Sprintf("%s: %s", e.Op, e.Kind), maxError)
	}
	return untrusted.Text(fmt.Sprintf("%s: %v", e.Op, e.Err), maxError)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the *Error in err's chain. An error without one is KindTransient: the operator retries an
// unknown error with backoff and never takes it for "not found".
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindTransient
}

// IsOutcomeUnknown reports whether the request behind err can have taken effect.
func IsOutcomeUnknown(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.OutcomeUnknown
}
