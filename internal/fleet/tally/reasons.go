package tally

import "github.com/codeconnect/vmgroup-operator/api/v1alpha1"

// OtherReason replaces a reason that the operator does not write. Users of members can write any reason.
const OtherReason = "Other"

// reasonOf returns the reason as a label: the reason itself if the operator writes it, otherwise OtherReason.
func reasonOf(reason string) string {
	if _, known := reasons[reason]; known {
		return reason
	}
	return OtherReason
}

// Reasons returns the reasons that the operator writes into conditions of VmGroups.
func Reasons() map[string]struct{} { return reasons }

var reasons = map[string]struct{}{
	v1alpha1.ReasonNotYetReconciled:         {},
	v1alpha1.ReasonAllVMsReady:              {},
	v1alpha1.ReasonScalingUp:                {},
	v1alpha1.ReasonScalingDown:              {},
	v1alpha1.ReasonRepairing:                {},
	v1alpha1.ReasonStarting:                 {},
	v1alpha1.ReasonStopping:                 {},
	v1alpha1.ReasonDeleting:                 {},
	v1alpha1.ReasonCRDTerminating:           {},
	v1alpha1.ReasonPaused:                   {},
	v1alpha1.ReasonMemberPaused:             {},
	v1alpha1.ReasonInvalidSpec:              {},
	v1alpha1.ReasonVCenterNotFound:          {},
	v1alpha1.ReasonVCenterTerminating:       {},
	v1alpha1.ReasonVCenterUnreachable:       {},
	v1alpha1.ReasonVCenterReachable:         {},
	v1alpha1.ReasonInventoryIncomplete:      {},
	v1alpha1.ReasonTemplateNotFound:         {},
	v1alpha1.ReasonNotATemplate:             {},
	v1alpha1.ReasonTemplateAmbiguous:        {},
	v1alpha1.ReasonPlacementNotFound:        {},
	v1alpha1.ReasonPlacementAmbiguous:       {},
	v1alpha1.ReasonTemplateUnfit:            {},
	v1alpha1.ReasonPlacementImpossible:      {},
	v1alpha1.ReasonNotGranted:               {},
	v1alpha1.ReasonNotChecked:               {},
	v1alpha1.ReasonPolicyAllows:             {},
	v1alpha1.ReasonPolicyViolated:           {},
	v1alpha1.ReasonPolicyTightened:          {},
	v1alpha1.ReasonQuotaExceeded:            {},
	v1alpha1.ReasonPolicyUnavailable:        {},
	v1alpha1.ReasonUserDataDenied:           {},
	v1alpha1.ReasonUserDataNotFound:         {},
	v1alpha1.ReasonUserDataTooLarge:         {},
	v1alpha1.ReasonMetadataTooLarge:         {},
	v1alpha1.ReasonNotSupported:             {},
	v1alpha1.ReasonNameConflict:             {},
	v1alpha1.ReasonLegacyObject:             {},
	v1alpha1.ReasonEpochAhead:               {},
	v1alpha1.ReasonAnotherInstallation:      {},
	v1alpha1.ReasonRestamping:               {},
	v1alpha1.ReasonForeignDisk:              {},
	v1alpha1.ReasonGrowthBlocked:            {},
	v1alpha1.ReasonDiskTooSmall:             {},
	v1alpha1.ReasonTooManyDisks:             {},
	v1alpha1.ReasonAdopting:                 {},
	v1alpha1.ReasonAdoptionEnded:            {},
	v1alpha1.ReasonVMsLeft:                  {},
	v1alpha1.ReasonAdoptionWaits:            {},
	v1alpha1.ReasonAdoptionRefused:          {},
	v1alpha1.ReasonAdoptionNotAllowed:       {},
	v1alpha1.ReasonConvertedToTemplate:      {},
	v1alpha1.ReasonRepairHeld:               {},
	v1alpha1.ReasonVMsLost:                  {},
	v1alpha1.ReasonPermissionDenied:         {},
	v1alpha1.ReasonOutOfCapacity:            {},
	v1alpha1.ReasonOperationFailed:          {},
	v1alpha1.ReasonProgressDeadlineExceeded: {},
	v1alpha1.ReasonUpToDate:                 {},
	v1alpha1.ReasonRolloutPending:           {},
	v1alpha1.ReasonRolloutProgressing:       {},
	v1alpha1.ReasonRolloutPaused:            {},
	v1alpha1.ReasonRolloutStopped:           {},
	v1alpha1.ReasonRestartPending:           {},
	v1alpha1.ReasonNotStarted:               {},
	v1alpha1.ReasonWaitingForQuota:          {},
	v1alpha1.ReasonRetainForbidsReplacement: {},
	v1alpha1.ReasonUnstampedVMs:             {},
	v1alpha1.ReasonNoReplica:                {},
	v1alpha1.ReasonCopiedStamps:             {},
	v1alpha1.ReasonReturnedVMs:              {},
	v1alpha1.ReasonDeletionPending:          {},
	v1alpha1.ReasonMassDeletion:             {},
	v1alpha1.ReasonReleasing:                {},
	v1alpha1.ReasonReceiptFailed:            {},
	v1alpha1.ReasonHubWriteDelayed:          {},
	v1alpha1.ReasonForgetHeld:               {},
	v1alpha1.ReasonReleaseHeld:              {},
}
