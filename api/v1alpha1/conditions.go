package v1alpha1

// Condition types. Ready is always present; the others that are marked "abnormal" are present only while true.
const (
	// ConditionReady of every kind: the object is as asked for and nothing is left to do.
	ConditionReady = "Ready"
	// ConditionReconciling of every kind (abnormal): the operator is working towards spec (kstatus).
	ConditionReconciling = "Reconciling"
	// ConditionStalled of every kind (abnormal): a person must act before the operator continues (kstatus).
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
	ReasonNotYetReconciled = "NotYetReconciled" // no replica has looked at the VmGroup yet
	ReasonAllVMsReady      = "AllVMsReady"      // all VMs that spec asks for are ready
	ReasonScalingUp        = "ScalingUp"        // VMs are added
	ReasonScalingDown      = "ScalingDown"      // VMs are removed
	ReasonRepairing        = "Repairing"        // VMs are replaced or changed back
	ReasonStarting         = "Starting"         // VMs are powered on, or are not ready yet
	ReasonStopping         = "Stopping"         // VMs are powered off because spec asks for it
	ReasonDeleting         = "Deleting"         // the VmGroup and its VMs are deleted
	// ReasonCRDTerminating: the group is deleted because its CRD was, and keeps its VMs until that is confirmed, also when the CRD is back. Of a
	// MemberCluster: the CRD of VmGroups is being deleted there.
	ReasonCRDTerminating      = "CRDTerminating"
	ReasonPaused              = "Paused"              // an annotation pauses the VmGroup; nothing is done for it
	ReasonMemberPaused        = "MemberPaused"        // the MemberCluster is paused; nothing is done for its VmGroups
	ReasonInvalidSpec         = "InvalidSpec"         // fields of spec contradict each other
	ReasonVCenterNotFound     = "VCenterNotFound"     // the hub has no VCenter of this name
	ReasonVCenterTerminating  = "VCenterTerminating"  // the VCenter is being deleted
	ReasonVCenterUnreachable  = "VCenterUnreachable"  // vCenter does not respond, or the VCenter cannot be used
	ReasonVCenterReachable    = "VCenterReachable"    // vCenter responds, and its inventory is complete
	ReasonInventoryIncomplete = "InventoryIncomplete" // the operator does not know all VMs of the vCenter yet; nothing is created or deleted
	ReasonTemplateNotFound    = "TemplateNotFound"    // vCenter has no template of this name
	ReasonNotATemplate        = "NotATemplate"        // the name belongs to a VM that is no template
	ReasonTemplateAmbiguous   = "TemplateAmbiguous"   // several templates have this name; spec needs a path
	ReasonPlacementNotFound   = "PlacementNotFound"   // vCenter has no resource pool, datastore or network of this name
	ReasonPlacementAmbiguous  = "PlacementAmbiguous"  // several objects of vCenter have this name; spec needs a path
	// ReasonTemplateUnfit: no VM can be made of the template as it is.
	ReasonTemplateUnfit = "TemplateUnfit"
	// ReasonPlacementImpossible: the resource pool, datastore, network and template do not go together.
	ReasonPlacementImpossible = "PlacementImpossible"
	ReasonNotGranted          = "NotGranted" // the VCenter does not grant the namespace what spec names
	ReasonNotChecked          = "NotChecked" // spec names something that was not found, so nothing was admitted
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
	ReasonUserDataDenied    = "UserDataDenied"   // the MemberCluster, or the RBAC of the member, does not allow to read the Secret with the user data
	ReasonUserDataNotFound  = "UserDataNotFound" // the Secret with the user data does not exist, or lacks the key
	ReasonUserDataTooLarge  = "UserDataTooLarge" // the user data is larger than guests can read; nothing is cloned with it
	ReasonMetadataTooLarge  = "MetadataTooLarge" // the metadata for guests is larger than they can read; nothing is cloned with it
	ReasonNotSupported      = "NotSupported"     // spec.cloneMode needs a snapshot that the template lacks
	ReasonNameConflict      = "NameConflict"     // a VM or folder that is not the operator's has the name that is needed
	ReasonLegacyObject      = "LegacyObject"     // the VmGroup belongs to the original operator
	ReasonEpochAhead        = "EpochAhead"       // status.ownership is ahead of the operator: somebody else wrote it
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
	ReasonRepairHeld               = "RepairHeld"               // more VMs are unhealthy than spec.repair allows to be replaced
	ReasonVMsLost                  = "VMsLost"                  // VMs were moved out of the root folder, or their host is disconnected; no VM is cloned in their place
	ReasonPermissionDenied         = "PermissionDenied"         // the account lacks a privilege for a VM of the VmGroup
	ReasonOutOfCapacity            = "OutOfCapacity"            // vCenter has no room for a VM
	ReasonOperationFailed          = "OperationFailed"          // vCenter refused an operation; the message has its fault
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded" // spec.readiness.progressDeadlineSeconds passed without progress; the operator keeps trying
	ReasonUpToDate                 = "UpToDate"                 // every VM has the current revision
	ReasonRolloutPending           = "RolloutPending"           // VMs of an earlier revision wait for their update
	ReasonRolloutProgressing       = "RolloutProgressing"       // VMs are updated to the current revision
	ReasonRolloutPaused            = "RolloutPaused"            // spec.rollout pauses the update
	ReasonRolloutStopped           = "RolloutStopped"           // VMs of the new revision did not become ready, or vCenter refused the change
	ReasonRestartPending           = "RestartPending"           // a change takes effect when the VMs are restarted
	ReasonNotStarted               = "NotStarted"               // an update begins only after an edit of spec
	ReasonWaitingForQuota          = "WaitingForQuota"          // an update waits for room in a quota
	ReasonRetainForbidsReplacement = "RetainForbidsReplacement" // spec.deletionPolicy Retain forbids to replace VMs
	ReasonUnstampedVMs             = "UnstampedVMs"             // VMs in the folder of the VmGroup carry no stamp
	ReasonNoReplica                = "NoReplica"                // no replica of the operator has looked after the VmGroup for 30 seconds
	ReasonCopiedStamps             = "CopiedStamps"             // copies of VMs carry the stamp of the VmGroup
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
	ReasonPolicyInForce = "PolicyInForce" // the policy holds for the VmGroups that it selects
	ReasonPolicyInvalid = "PolicyInvalid" // the policy contradicts itself and forbids everything that it selects
)

// Reasons of a VCenter's conditions.
const (
	ReasonConnected = "Connected" // vCenter responds, and the login works
	ReasonSamePlace = "SamePlace" // another VCenter has the same server, datacenter and folder

	ReasonDatacenterUnclear      = "DatacenterUnclear"      // datacenter and folder of spec do not lead to the VMs of the operator alone; the operator continues in the known folder
	ReasonRootFolderRenamed      = "RootFolderRenamed"      // the root folder has another name than spec
	ReasonVMsElsewhere           = "VMsElsewhere"           // spec leads to another folder than the one with the VMs
	ReasonConnecting             = "Connecting"             // the first connection is not established yet
	ReasonUnreachable            = "Unreachable"            // nothing answers at the address
	ReasonSecretNotFound         = "SecretNotFound"         // the Secret with the credentials does not exist
	ReasonSecretInvalid          = "SecretInvalid"          // the Secret lacks the user name or the password
	ReasonSecretForAnotherHost   = "SecretForAnotherHost"   // the Secret says that its password is for another vCenter
	ReasonSecretWithoutHost      = "SecretWithoutHost"      // the Secret does not say for which vCenter its password is
	ReasonInvalidLogin           = "InvalidLogin"           // vCenter rejected the user name or the password
	ReasonCertificateRefused     = "CertificateRefused"     // the certificate of vCenter is not the one that spec trusts
	ReasonInvalidConfiguration   = "InvalidConfiguration"   // spec does not lead to a datacenter, folder or server
	ReasonInUse                  = "InUse"                  // VmGroups still use the VCenter that is being deleted
	ReasonAnotherVCenter         = "AnotherVCenter"         // another vCenter than before answers at the address
	ReasonPrivilegesMissing      = "PrivilegesMissing"      // the account lacks privileges; the message lists them
	ReasonPrivilegesSufficient   = "PrivilegesSufficient"   // the account has all privileges that the operator needs
	ReasonInventoryComplete      = "InventoryComplete"      // the operator knows every VM below the root folder
	ReasonInventorySuddenlyEmpty = "InventorySuddenlyEmpty" // the root folder had VMs and appears empty; nothing is created or deleted
	ReasonGroupGone              = "GroupGone"              // the VmGroup of the VMs does not exist
	ReasonOutsideOfRoot          = "OutsideOfRoot"          // VMs with the stamp are outside of the root folder
	ReasonNotLookedEverywhere    = "NotLookedEverywhere"    // VMs with the stamp may be where the account may not look
	ReasonNotAdopted             = "NotAdopted"             // VMs that were kept wait for a VmGroup that adopts them
	ReasonNoSignOfLife           = "NoSignOfLife"           // the predecessor has no session
	ReasonPredecessorLives       = "PredecessorLives"       // the predecessor has a session, or nobody can tell
)

// Reasons of a MemberCluster's conditions.
const (
	ReasonEngaged            = "Engaged"            // at least one replica serves the member
	ReasonKubeconfigNotFound = "KubeconfigNotFound" // the Secret with the kubeconfig does not exist
	ReasonKubeconfigRefused  = "KubeconfigRefused"  // the kubeconfig is malformed, or has what the operator does not use
	ReasonMemberUnreachable  = "MemberUnreachable"  // the API server of the member does not respond
	// ReasonLimitExceeded: the member's API server sends more than the operator takes in, or names that Kubernetes does not allow. It is a reason of a
	// VCenter's conditions, too: the server sends more than the operator takes in.
	ReasonLimitExceeded = "LimitExceeded"
	// ReasonRedirectRefused: the answer leads to another address, to which the credentials do not go.
	ReasonRedirectRefused = "RedirectRefused"
	// ReasonAddressRefused: the operator must not connect to the address.
	ReasonAddressRefused = "AddressRefused"
	// ReasonCacheBehind: the member answers, and lists or watches do not come to an end, or end at once.
	ReasonCacheBehind         = "CacheBehind"
	ReasonClaimed             = "Claimed"             // this installation holds the claim on the member
	ReasonClaimedByAnotherHub = "ClaimedByAnotherHub" // another installation holds the claim on the member
	ReasonDuplicateMember     = "DuplicateMember"     // two MemberClusters lead to the same cluster
	// ReasonAnotherCluster: the kubeconfig leads to another cluster than the one that the MemberCluster is pinned to.
	ReasonAnotherCluster = "AnotherCluster"
	// ReasonKnownByAnotherName: a MemberCluster of another name had this cluster.
	ReasonKnownByAnotherName = "KnownByAnotherName"
	ReasonCRDInstalled       = "CRDInstalled"     // the member serves a VmGroup CRD that the operator understands
	ReasonCRDMissing         = "CRDMissing"       // the member does not serve the VmGroup CRD
	ReasonCRDNewer           = "CRDNewer"         // the VmGroup CRD of the member belongs to a later version of the operator
	ReasonCRDForeign         = "CRDForeign"       // the VmGroup CRD of the member was not installed by the operator
	ReasonCRDFailed          = "CRDFailed"        // the VmGroup CRD could not be installed or is not served
	ReasonLocalDisabled      = "LocalDisabled"    // the hub as a member is switched off
	ReasonRevisionWentBack   = "RevisionWentBack" // the storage of the member has a lower revision than before
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
	ReasonUnauthorized        = "Unauthorized"        // the member rejects the operator's credentials
)
