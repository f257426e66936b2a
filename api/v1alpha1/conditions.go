package v1alpha1

// Condition types. Ready is always present; the others that are marked "abnormal" are present only while true.
const (
	// ConditionReady of every kind: the object is as asked for and nothing is left to do.
	ConditionReady = "Ready"
	// ConditionReconciling (abnormal): the operator is working towards spec (kstatus).
	ConditionReconciling = "Reconciling"
	// ConditionStalled (abnormal): a person must act before the operator continues (kstatus).
	ConditionStalled = "Stalled"
	// ConditionPolicyCompliant of a VmGroup: policies and grants allow what spec asks for.
	ConditionPolicyCompliant = "PolicyCompliant"
	// ConditionVCenterReachable of a VmGroup: its vCenter answers and its inventory is complete.
	ConditionVCenterReachable = "VCenterReachable"
	// ConditionUpToDate of a VmGroup: every VM has the current revision.
	ConditionUpToDate = "UpToDate"
	// ConditionForeignVMs of a VmGroup (abnormal): VMs that are not ours are in the group's folder, or copies
	// carry its stamp. They are never touched.
	ConditionForeignVMs = "ForeignVMs"
	// ConditionPaused of a VmGroup (abnormal): somebody asked that nothing is done for it.
	ConditionPaused = "Paused"
	// ConditionUnattended of a VmGroup (abnormal): no replica of the operator has looked after it for a while.
	ConditionUnattended = "Unattended"

	// ConditionRemoving of a VmGroup (abnormal): all of its VMs are to leave. The operator first saw that at its lastTransitionTime.
	ConditionRemoving = "Removing"

	// ConditionAdopted of a VmGroup: the VMs that annotation adopt asks for were taken over.
	ConditionAdopted = "Adopted"
	// ConditionReachable of a VCenter: it answers. False says since when nothing answers at its address.
	ConditionReachable = "Reachable"
	// ConditionSharedPlace of a VCenter (abnormal): another one keeps its VMs in the same folder of the same vCenter.
	ConditionSharedPlace = "SharedPlace"
	// ConditionPlaceUncertain of a VCenter (abnormal): datacenter and folder of spec do not lead to the operator's VMs, or not to one place alone.
	ConditionPlaceUncertain = "PlaceUncertain"
	// ConditionKeptVMs of a VCenter (abnormal): VMs were kept when their VmGroup was deleted, and no other has taken them yet.
	ConditionKeptVMs = "KeptVMs"
	// ConditionCredentialsValid of a VCenter: the login works.
	ConditionCredentialsValid = "CredentialsValid"
	// ConditionPrivilegesSufficient of a VCenter: the account may do what the operator needs.
	ConditionPrivilegesSufficient = "PrivilegesSufficient"
	// ConditionInventoryComplete of a VCenter: the operator knows every VM below its root folder.
	ConditionInventoryComplete = "InventoryComplete"
	// ConditionOrphanedVMs of a VCenter or a MemberCluster (abnormal): VMs carry this installation's stamp and belong to no VmGroup.
	ConditionOrphanedVMs = "OrphanedVMs"
	// ConditionStrayVMs of a VCenter (abnormal): VMs outside of the operator's root folder carry this installation's stamp.
	ConditionStrayVMs = "StrayVMs"

	// ConditionPredecessorGone of a VCenter (only while a predecessor is named): nothing is left of the installation whose VMs this one
	// takes over.
	ConditionPredecessorGone = "PredecessorGone"

	// ConditionClaimed of a MemberCluster: this installation holds the claim on the member.
	ConditionClaimed = "Claimed"
	// ConditionCRDInstalled of a MemberCluster: the member serves a VmGroup CRD that this operator understands.
	ConditionCRDInstalled = "CRDInstalled"
	// ConditionAdmissionReady of a MemberCluster: its admission objects are up to date.
	ConditionAdmissionReady = "AdmissionReady"
	// ConditionStorageRestored of a MemberCluster (abnormal): its etcd came back from a backup within the last day.
	ConditionStorageRestored = "StorageRestored"
	// ConditionInvalidAllowances of a VCenter or a MemberCluster (abnormal): an annotation with a time until which something is allowed does not count.
	ConditionInvalidAllowances = "InvalidAllowances"
	// ConditionMassDeletion of a MemberCluster (abnormal): removals of VMs are held.
	ConditionMassDeletion = "MassDeletion"
	// ConditionCRDDeletion of a MemberCluster (abnormal): VmGroups are held that are deleted because their CRD was.
	ConditionCRDDeletion = "CRDDeletion"
)

// Reasons of a VmGroup's conditions.
const (
	ReasonNotYetReconciled = "NotYetReconciled"
	ReasonAllVMsReady      = "AllVMsReady"
	ReasonScalingUp        = "ScalingUp"
	ReasonScalingDown      = "ScalingDown"
	ReasonRepairing        = "Repairing"
	ReasonStarting         = "Starting"
	ReasonStopping         = "Stopping"
	ReasonDeleting         = "Deleting"
	// ReasonCRDTerminating: the group is deleted because its CRD was, and keeps its VMs until that is confirmed, also when the CRD is back. Of a
	// MemberCluster: the CRD of VmGroups is being deleted there.
	ReasonCRDTerminating      = "CRDTerminating"
	ReasonPaused              = "Paused"
	ReasonMemberPaused        = "MemberPaused"
	ReasonInvalidSpec         = "InvalidSpec"
	ReasonVCenterNotFound     = "VCenterNotFound"
	ReasonVCenterTerminating  = "VCenterTerminating"
	ReasonVCenterUnreachable  = "VCenterUnreachable"
	ReasonVCenterReachable    = "VCenterReachable"
	ReasonInventoryIncomplete = "InventoryIncomplete"
	ReasonTemplateNotFound    = "TemplateNotFound"
	ReasonNotATemplate        = "NotATemplate"
	ReasonTemplateAmbiguous   = "TemplateAmbiguous"
	ReasonPlacementNotFound   = "PlacementNotFound"
	ReasonPlacementAmbiguous  = "PlacementAmbiguous"
	// ReasonTemplateUnfit: no VM can be made of the template as it is.
	ReasonTemplateUnfit = "TemplateUnfit"
	// ReasonPlacementImpossible: the resource pool, datastore, network and template do not go together.
	ReasonPlacementImpossible = "PlacementImpossible"
	ReasonNotGranted          = "NotGranted"
	ReasonNotChecked          = "NotChecked"
	// ReasonPolicyAllows: grants, policies and quotas allow what spec asks for.
	ReasonPolicyAllows = "PolicyAllows"
	// ReasonPolicyViolated: spec breaks a policy; the group is held at what was admitted last.
	ReasonPolicyViolated = "PolicyViolated"
	// ReasonPolicyTightened: what runs was admitted before a policy forbade it; it is kept and repaired.
	ReasonPolicyTightened = "PolicyTightened"
	// ReasonQuotaExceeded: spec asks for more than is left of a quota; what was granted before is kept.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonPolicyUnavailable: policies or quotas could not be read, so nothing grows or changes.
	ReasonPolicyUnavailable = "PolicyUnavailable"
	ReasonUserDataDenied    = "UserDataDenied"
	ReasonUserDataNotFound  = "UserDataNotFound"
	// ReasonUserDataTooLarge, ReasonMetadataTooLarge: guests could not read what they are handed; nothing is cloned with it.
	ReasonUserDataTooLarge = "UserDataTooLarge"
	ReasonMetadataTooLarge = "MetadataTooLarge"
	ReasonNotSupported     = "NotSupported"
	ReasonNameConflict     = "NameConflict"
	ReasonLegacyObject     = "LegacyObject"
	ReasonEpochAhead       = "EpochAhead"
	// ReasonAnotherInstallation: VMs of the group carry the stamp of another installation of the operator; nothing is done with them.
	ReasonAnotherInstallation = "AnotherInstallation"
	// ReasonRestamping: VMs that the predecessor of this installation left get this one's stamp.
	ReasonRestamping = "Restamping"
	// ReasonForeignDisk: VMs that are to leave have disks that vCenter would delete with them, and that are not theirs.
	ReasonForeignDisk = "ForeignDisk"
	// ReasonAdopting: VMs of another group are being taken over; nothing is cloned or removed until that has ended.
	ReasonAdopting = "Adopting"
	// ReasonAdoptionEnded: all VMs that the group has room for were taken over.
	ReasonAdoptionEnded = "AdoptionEnded"
	// ReasonVMsLeft: the same, and there are more VMs, or others that are not the group's.
	ReasonVMsLeft = "VMsLeft"
	// ReasonAdoptionWaits: it cannot be said now which VMs there are to take over.
	ReasonAdoptionWaits = "AdoptionWaits"
	// ReasonAdoptionRefused: what the annotation names cannot be taken over.
	ReasonAdoptionRefused = "AdoptionRefused"
	// ReasonAdoptionNotAllowed: a hub administrator has to allow it first.
	ReasonAdoptionNotAllowed = "AdoptionNotAllowed"
	// ReasonConvertedToTemplate: somebody made a template of a VM of the group.
	ReasonConvertedToTemplate      = "ConvertedToTemplate"
	ReasonRepairHeld               = "RepairHeld"
	ReasonVMsLost                  = "VMsLost"
	ReasonPermissionDenied         = "PermissionDenied"
	ReasonOutOfCapacity            = "OutOfCapacity"
	ReasonOperationFailed          = "OperationFailed"
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	ReasonUpToDate                 = "UpToDate"
	ReasonRolloutPending           = "RolloutPending"
	ReasonRolloutProgressing       = "RolloutProgressing"
	ReasonRolloutPaused            = "RolloutPaused"
	ReasonRolloutStopped           = "RolloutStopped"
	ReasonRestartPending           = "RestartPending"
	ReasonNotStarted               = "NotStarted"
	ReasonWaitingForQuota          = "WaitingForQuota"
	ReasonRetainForbidsReplacement = "RetainForbidsReplacement"
	ReasonUnstampedVMs             = "UnstampedVMs"
	ReasonNoReplica                = "NoReplica"
	ReasonCopiedStamps             = "CopiedStamps"
	// ReasonReturnedVMs: VMs of the group came back after they were replaced.
	ReasonReturnedVMs = "ReturnedVMs"
	// ReasonDeletionPending: the VMs of a group that is deleted, or wants none, are kept for a few seconds, so that a mass deletion shows.
	ReasonDeletionPending = "DeletionPending"
	// ReasonMassDeletion: so many VMs of the member are to leave at once that somebody has to confirm it.
	ReasonMassDeletion = "MassDeletion"
	// ReasonReleasing: the group is being deleted and keeps its VMs; what is under way for them is waited for.
	ReasonReleasing = "Releasing"
	// ReasonReceiptFailed: the hub has no receipt of VMs that are let go, so the group stays.
	ReasonReceiptFailed = "ReceiptFailed"
	// ReasonHubWriteDelayed: the group waits for a write on the hub, whose rate is limited for each member.
	ReasonHubWriteDelayed = "HubWriteDelayed"
	// ReasonForgetHeld: annotation forget is set and does not count: something is missing, or the vCenter responds. The group keeps its VMs.
	ReasonForgetHeld = "ForgetHeld"
	// ReasonReleaseHeld: annotation release is set and is not the UID of the group, which is being deleted. The group keeps its VMs.
	ReasonReleaseHeld = "ReleaseHeld"
)

// Reasons of a VmGroupPolicy's condition Ready.
const (
	ReasonPolicyInForce = "PolicyInForce"
	ReasonPolicyInvalid = "PolicyInvalid"
)

// Reasons of a VCenter's conditions.
const (
	ReasonConnected = "Connected"
	ReasonSamePlace = "SamePlace"

	ReasonDatacenterUnclear = "DatacenterUnclear"
	ReasonRootFolderRenamed = "RootFolderRenamed"
	ReasonVMsElsewhere      = "VMsElsewhere"
	ReasonConnecting        = "Connecting"
	ReasonUnreachable       = "Unreachable"
	ReasonSecretNotFound    = "SecretNotFound"
	ReasonSecretInvalid     = "SecretInvalid"
	// ReasonSecretForAnotherHost: the Secret says that its password is for another vCenter. ReasonSecretWithoutHost: it does not say for which.
	ReasonSecretForAnotherHost   = "SecretForAnotherHost"
	ReasonSecretWithoutHost      = "SecretWithoutHost"
	ReasonInvalidLogin           = "InvalidLogin"
	ReasonCertificateRefused     = "CertificateRefused"
	ReasonInvalidConfiguration   = "InvalidConfiguration"
	ReasonInUse                  = "InUse"
	ReasonAnotherVCenter         = "AnotherVCenter"
	ReasonPrivilegesMissing      = "PrivilegesMissing"
	ReasonPrivilegesSufficient   = "PrivilegesSufficient"
	ReasonInventoryComplete      = "InventoryComplete"
	ReasonInventorySuddenlyEmpty = "InventorySuddenlyEmpty"
	ReasonGroupGone              = "GroupGone"
	// ReasonOutsideOfRoot: VMs with the stamp are outside of the root folder; ReasonNotLookedEverywhere: there may be some where the account may not look.
	ReasonOutsideOfRoot       = "OutsideOfRoot"
	ReasonNotLookedEverywhere = "NotLookedEverywhere"
	ReasonNotAdopted          = "NotAdopted"
	// ReasonNoSignOfLife: the predecessor has no session; ReasonPredecessorLives: it has, or nobody can tell.
	ReasonNoSignOfLife     = "NoSignOfLife"
	ReasonPredecessorLives = "PredecessorLives"
)

// Reasons of a MemberCluster's conditions.
const (
	ReasonEngaged            = "Engaged"
	ReasonKubeconfigNotFound = "KubeconfigNotFound"
	ReasonKubeconfigRefused  = "KubeconfigRefused"
	ReasonMemberUnreachable  = "MemberUnreachable"
	// ReasonLimitExceeded: the member's API server sends more than the operator takes in, or names that Kubernetes does not allow. It is a reason of a
	// VCenter's conditions, too: the server sends more than the operator takes in.
	ReasonLimitExceeded = "LimitExceeded"
	// ReasonRedirectRefused: the answer leads to another address, to which the credentials do not go.
	ReasonRedirectRefused = "RedirectRefused"
	// ReasonAddressRefused: the operator must not connect to the address.
	ReasonAddressRefused = "AddressRefused"
	// ReasonCacheBehind: the member answers, and lists or watches do not come to an end, or end at once.
	ReasonCacheBehind         = "CacheBehind"
	ReasonClaimed             = "Claimed"
	ReasonClaimedByAnotherHub = "ClaimedByAnotherHub"
	ReasonDuplicateMember     = "DuplicateMember"
	// ReasonAnotherCluster: the kubeconfig leads to another cluster than the one that the MemberCluster is pinned to.
	ReasonAnotherCluster = "AnotherCluster"
	// ReasonKnownByAnotherName: a MemberCluster of another name had this cluster.
	ReasonKnownByAnotherName = "KnownByAnotherName"
	ReasonCRDInstalled       = "CRDInstalled"
	ReasonCRDMissing         = "CRDMissing"
	ReasonCRDNewer           = "CRDNewer"
	ReasonCRDForeign         = "CRDForeign"
	ReasonCRDFailed          = "CRDFailed"
	ReasonLocalDisabled      = "LocalDisabled"
	ReasonRevisionWentBack   = "RevisionWentBack"
	// ReasonRemovalsHeld: VmGroups have MassDeletion.
	ReasonRemovalsHeld = "RemovalsHeld"
	// ReasonAllowanceInvalid, also of a VCenter: an annotation is no time, or one that is too far ahead.
	ReasonAllowanceInvalid = "AllowanceInvalid"
	// Reasons of AdmissionReady.
	ReasonAdmissionInstalled  = "AdmissionInstalled"  // everything is in place
	ReasonAdmissionPending    = "AdmissionPending"    // not installed yet
	ReasonAdmissionForbidden  = "AdmissionForbidden"  // the identity may not install it
	ReasonAdmissionFailed     = "AdmissionFailed"     // the member refused an object
	ReasonAdmissionNotManaged = "AdmissionNotManaged" // spec.manage is None
	ReasonNoWebhook           = "NoWebhook"           // policies are in place; there is no URL or certificate for the webhook
	ReasonCABundleBehind      = "CABundleBehind"      // the member does not know the current certificate authority yet
	ReasonUnauthorized        = "Unauthorized"
)
