package plan

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// failure is the last failed operation of an ordinal, in the words of conditions.
type failure struct {
	vsphere.Failure
	reason, message string
	// brief is message, and begins with the VM.
	brief    string
	terminal bool
}

// explained returns why an operation failed. brief begins with the name of the VM, which most errors have after the verb.
func explained(f vsphere.Failure, name string) failure {
	reason, terminal := Explain(f.Err)
	message := f.Err.Error()
	return failure{Failure: f, reason: reason, message: message, brief: name + ": " + strings.Replace(message, " "+name+":", ":", 1), terminal: terminal}
}

// waits reports whether it is too early to try again. A VM that is kept because of its disks is tried again as soon as its
// configuration has changed, since a person may have detached them. The same holds for a VM whose question was answered.
func (f *failure) waits(now time.Time, vm *vsphere.VM) bool {
	var disks *vsphere.ForeignDisks
	if errors.As(f.Err, &disks) && vm != nil && vm.ChangeVersion != disks.ChangeVersion {
		return false
	}
	return f.RetryAt.After(now) && !f.Outdated(vm)
}

// compareFailures orders failures: the later retry is the worse one.
func compareFailures(a, b *failure) int {
	return cmp.Or(a.RetryAt.Compare(b.RetryAt), strings.Compare(a.reason, b.reason),
		strings.Compare(a.message, b.message), strings.Compare(a.Revision, b.Revision))
}

// Explain maps an error of vCenter to a condition reason, and says whether somebody has to act before trying again can help.
func Explain(err error) (reason string, terminal bool) {
	switch vsphere.KindOf(err) {
	case vsphere.KindSpec:
		return v1alpha1.ReasonOperationFailed, true
	case vsphere.KindPermission:
		return v1alpha1.ReasonPermissionDenied, true
	case vsphere.KindCapacity:
		return v1alpha1.ReasonOutOfCapacity, false
	case vsphere.KindNameTaken:
		return v1alpha1.ReasonNameConflict, false
	case vsphere.KindNotTemplate:
		return v1alpha1.ReasonNotATemplate, true
	case vsphere.KindForeignDisk:
		return v1alpha1.ReasonForeignDisk, true
	case vsphere.KindCredentials, vsphere.KindCertificate, vsphere.KindLimitExceeded:
		return v1alpha1.ReasonVCenterUnreachable, false
	default:
		return v1alpha1.ReasonOperationFailed, false
	}
}
