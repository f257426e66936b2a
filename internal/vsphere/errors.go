package vsphere

import (
	"errors"
	"fmt"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Kind says what can be done about an error.
type Kind string

// Error kinds.
const (
	// KindTransient: try again with backoff; nobody has to act.
	KindTransient Kind = "Transient"
	// KindBusy: the object is in use by another task; try again soon.
	KindBusy Kind = "Busy"
	// KindSpec: what was asked for is impossible until spec or template change.
	KindSpec Kind = "Spec"
	// KindOffOnly: what was asked for is possible only while the VM is powered off.
	KindOffOnly Kind = "OffOnly"
	// KindCredentials: the login was refused; wait for another Secret.
	KindCredentials Kind = "Credentials"
	// KindCertificate: the server's certificate is not trusted.
	KindCertificate Kind = "Certificate"
	// KindLimitExceeded: an answer has more than the operator takes in; the cause is a *session.LimitError.
	KindLimitExceeded Kind = "LimitExceeded"
	// KindPermission: the account lacks a privilege.
	KindPermission Kind = "Permission"
	// KindCapacity: vCenter has no room; try again in minutes.
	KindCapacity Kind = "Capacity"
	// KindNotFound: the object does not exist, said by vCenter itself.
	KindNotFound Kind = "NotFound"
	// KindAmbiguous: more than one object has the name.
	KindAmbiguous Kind = "Ambiguous"
	// KindNotTemplate: the VM is not marked as template.
	KindNotTemplate Kind = "NotTemplate"
	// KindNameTaken: an object of that name is in the folder already.
	KindNameTaken Kind = "NameTaken"
	// KindForeign: the object is not ours.
	KindForeign Kind = "Foreign"
	// KindForeignDisk: the VM has disks that must not be deleted with it; the cause is a *ForeignDisks.
	KindForeignDisk Kind = "ForeignDisk"
	// KindNotEmpty: the folder holds something.
	KindNotEmpty Kind = "NotEmpty"
	// KindHoldsFolders: the folder holds other folders and nothing else; VMs of a group lie in its folder itself.
	KindHoldsFolders Kind = "HoldsFolders"
	// KindConflict: the object was changed since it was observed.
	KindConflict Kind = "Conflict"
	// KindFenced: the caller may not act any more; nothing was sent.
	KindFenced Kind = "Fenced"
)

// Error is an error of a vCenter.
type Error struct {
	Kind Kind
	// Op is what was tried, as a phrase: "clone vg-1-0 from debian-12".
	Op string
	// Object that the server named in the fault, if any.
	Object Ref
	// Holds is what is in the folder besides folders, with KindNotEmpty; none when that is not known.
	Holds []Ref
	// Privilege that is missing, with KindPermission.
	Privilege string
	// OutcomeUnknown is true when the request may have taken effect although it failed.
	OutcomeUnknown bool
	// Err is the cause; its text holds no credentials.
	Err error
}

// maxError bounds the text of an error, in bytes.
const maxError = 2048

// Error returns "<op>: <cause>", as untrusted.Text does: names and faults of vCenter are in it.
func (e *Error) Error() string {
	if e.Err == nil {
		return untrusted.Text(fmt.Sprintf("%s: %s", e.Op, e.Kind), maxError)
	}
	return untrusted.Text(fmt.Sprintf("%s: %v", e.Op, e.Err), maxError)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the *Error in err's chain. An error without one is KindTransient: what is not
// understood is tried again, with backoff, and never taken for "not found".
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindTransient
}

// IsOutcomeUnknown reports whether the request behind err may have taken effect.
func IsOutcomeUnknown(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.OutcomeUnknown
}
