package plan

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// failure is the last failed operation of an ordinal, worded for conditions.
type failure struct {
	vsphere.Failure
	reason, message string
	// brief is message with the VM's name first.
	brief    string
	terminal bool
}

// explained returns why an operation failed. brief begins with the name of the VM, which follows the verb in most errors.
func explained(f vsphere.Failure, name string) failure {
	reason, terminal := Explain(f.Err)
	message := f.Err.Error()
	return failure{Failure: f, reason: reason, message: message, brief: name + ": " + strings.Replace(message, " "+name+":", ":", 1), terminal: terminal}
}

// passing reports whether a failure is not worth a report: a VM changed after its observation, once. The retry after a second observes it anew.
func (f *failure) passing() bool {
	return f.Count == 1 && vsphere.KindOf(f.Err) == vsphere.KindConflict
}

// waits reports whether it is too early to retry. A VM whose disks are in the way is retried as soon as its configuration changes, since a person can have detached them or
// removed a snapshot. The same holds for a VM whose question was answered.
func (f *failure) waits(now time.Time, vm *vsphere.VM) bool {
	var held interface{ SeenVersion() string }
	if errors.As(f.Err, &held) && vm != nil && vm.ChangeVersion != held.SeenVersion() {
		return false
	}
	return f.RetryAt.After(now) && !f.Outdated(vm)
}

// compareFailures orders failures: the later retry is the worse one.
func compareFailures(a, b *failure) int {
	return cmp.Or(a.RetryAt.Compare(b.RetryAt), strings.Compare(a.reason, b.reason),
		strings.Compare(a.message, b.message), strings.Compare(a.Revision, b.Revision))
}

// Explain maps a vCenter error to a condition reason. terminal is true if a person must act before a retry can succeed.
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
	case vsphere.KindGrowthBlocked:
		return v1alpha1.ReasonGrowthBlocked, true
	case vsphere.KindForeignDisk:
		return v1alpha1.ReasonForeignDisk, true
	case vsphere.KindCredentials, vsphere.KindCertificate, vsphere.KindLimitExceeded:
		return v1alpha1.ReasonVCenterUnreachable, false
	default:
		return v1alpha1.ReasonOperationFailed, false
	}
}
