package v1alpha1

// Condition types. Ready is always present. Conditions marked "abnormal" are present only while they are true.
const (
	// ConditionReady of every kind: the object matches its spec and no work is left.
	ConditionReady = "Ready"
	// ConditionReconciling of every kind (abnormal): the operator is working towards spec (kstatus).
	ConditionReconciling = "Reconciling"
	// ConditionStalled of every kind (abnormal): a person must act before the operator continues (kstatus).
	ConditionStalled = "Stalled"
	// ConditionPolicyCompliant of a VmGroup: policies and grants allow spec.
	ConditionPolicyCompliant = "PolicyCompliant"
	// ConditionVCenterReachable of a VmGroup: its vCenter answers and its inventory is complete.
	ConditionVCenterReachable = "VCenterReachable"
	// ConditionUpToDate of a VmGroup: every VM has the current revision.
	ConditionUpToDate = "UpToDate"
	// ConditionForeignVMs of a VmGroup (abnormal): the group's folder contains VMs of others, or copies carry the group's stamp. The
	// operator never touches these VMs.
	ConditionForeignVMs = "ForeignVMs"
	// ConditionPaused of a VmGroup (abnormal): spec, an annotation or its MemberCluster pauses the group.
	ConditionPaused = "Paused"
	// ConditionUnattended of a VmGroup (abnormal): no operator replica has reconciled the group for a while.
	ConditionUnattended = "Unattended"

	// ConditionRemoving of a VmGroup (abnormal): all of its VMs are to be removed. lastTransitionTime is when the operator first saw that.
	ConditionRemoving = "Removing"

	// ConditionAdopted of a VmGroup: the VMs that annotation adopt names were adopted.
	ConditionAdopted = "Adopted"
	// ConditionReachable of a VCenter: the server responds. If False, lastTransitionTime is when the address stopped responding.
	ConditionReachable = "Reachable"
	// ConditionSharedPlace of a VCenter (abnormal): another VCenter keeps its VMs in the same folder of the same vCenter.
	ConditionSharedPlace = "SharedPlace"
	// ConditionPlaceUncertain of a VCenter (abnormal): spec.datacenter and spec.folder do not resolve to the operator's VMs, or resolve to
	// several places.
	ConditionPlaceUncertain = "PlaceUncertain"
	// ConditionKeptVMs of a VCenter (abnormal): VMs were kept when their VmGroup was deleted, and no other VmGroup has adopted them yet.
	ConditionKeptVMs = "KeptVMs"
	// ConditionCredentialsValid of a VCenter: the login works. Of a MemberCluster: no credential of its kubeconfigs has expired.
	ConditionCredentialsValid = "CredentialsValid"
	// ConditionPrivilegesSufficient of a VCenter: the account has the privileges that the operator needs.
	ConditionPrivilegesSufficient = "PrivilegesSufficient"
	// ConditionInventoryComplete of a VCenter: the operator knows every VM below its root folder.
	ConditionInventoryComplete = "InventoryComplete"
	// ConditionOrphanedVMs of a VCenter or a MemberCluster (abnormal): VMs carry this installation's stamp but belong to no VmGroup.
	ConditionOrphanedVMs = "OrphanedVMs"
	// ConditionStrayVMs of a VCenter (abnormal): VMs outside of the operator's root folder carry this installation's stamp.
	ConditionStrayVMs = "StrayVMs"

	// ConditionPredecessorGone of a VCenter (only while a predecessor is named): the installation whose VMs this one takes over shows no
	// sign of life.
	ConditionPredecessorGone = "PredecessorGone"

	// ConditionClaimed of a MemberCluster: this installation holds the claim on the member.
	ConditionClaimed = "Claimed"
	// ConditionCRDInstalled of a MemberCluster: the member serves a VmGroup CRD that this operator understands.
	ConditionCRDInstalled = "CRDInstalled"
	// ConditionAdmissionReady of a MemberCluster: its admission objects are up to date.
	ConditionAdmissionReady = "AdmissionReady"
	// ConditionStorageRestored of a MemberCluster (abnormal): its etcd was restored from a backup within the last day.
	ConditionStorageRestored = "StorageRestored"
	// ConditionInvalidAllowances of a VCenter or a MemberCluster (abnormal): an annotation that allows something until a time is invalid
	// and has no effect.
	ConditionInvalidAllowances = "InvalidAllowances"
	// ConditionMassDeletion of a MemberCluster (abnormal): removals of VMs are on hold.
	ConditionMassDeletion = "MassDeletion"
	// ConditionCRDDeletion of a MemberCluster (abnormal): VmGroups are on hold that are deleted because their CRD was deleted.
	ConditionCRDDeletion = "CRDDeletion"
)

// Reasons of a VmGroup's conditions.
const (
	ReasonNotYetReconciled = "NotYetReconciled" // no replica has reconciled the VmGroup yet
	ReasonAllVMsReady      = "AllVMsReady"      // all VMs of spec are ready
	ReasonScalingUp        = "ScalingUp"        // VMs are added
	ReasonScalingDown      = "ScalingDown"      // VMs are removed
	ReasonRepairing        = "Repairing"        // VMs are replaced or reverted to spec
	ReasonStarting         = "Starting"         // VMs are powered on, or are not ready yet
	ReasonStopping         = "Stopping"         // VMs are powered off because of spec
	ReasonDeleting         = "Deleting"         // the VmGroup and its VMs are deleted
	// ReasonCRDTerminating: the group is deleted because its CRD was deleted. It keeps its VMs until the deletion is confirmed, even if the
	// CRD is restored. Of a MemberCluster: the CRD of VmGroups is being deleted in the member.
	ReasonCRDTerminating      = "CRDTerminating"
	ReasonPaused              = "Paused"              // an annotation pauses the VmGroup; the operator takes no action
	ReasonMemberPaused        = "MemberPaused"        // the MemberCluster is paused; the operator takes no action for its VmGroups
	ReasonInvalidSpec         = "InvalidSpec"         // fields of spec contradict each other
	ReasonVCenterNotFound     = "VCenterNotFound"     // the hub has no VCenter of this name
	ReasonVCenterTerminating  = "VCenterTerminating"  // the VCenter is being deleted
	ReasonVCenterUnreachable  = "VCenterUnreachable"  // vCenter does not respond, or the VCenter cannot be used
	ReasonVCenterReachable    = "VCenterReachable"    // vCenter responds, and its inventory is complete
	ReasonInventoryIncomplete = "InventoryIncomplete" // the operator does not know all VMs of the vCenter yet; nothing is created or deleted
	ReasonTemplateNotFound    = "TemplateNotFound"    // vCenter has no template of this name
	ReasonNotATemplate        = "NotATemplate"        // the name belongs to a VM that is not a template
	ReasonTemplateAmbiguous   = "TemplateAmbiguous"   // several templates have this name; spec needs a path
	ReasonPlacementNotFound   = "PlacementNotFound"   // vCenter has no resource pool, datastore or network of this name
	ReasonPlacementAmbiguous  = "PlacementAmbiguous"  // several objects of vCenter have this name; spec needs a path
	// ReasonTemplateUnfit: VMs cannot be cloned from the template in its present state.
	ReasonTemplateUnfit = "TemplateUnfit"
	// ReasonPlacementImpossible: the resource pool, datastore, network and template cannot be combined.
	ReasonPlacementImpossible = "PlacementImpossible"
	ReasonNotGranted          = "NotGranted" // the VCenter does not grant the namespace an object that spec names
	ReasonNotChecked          = "NotChecked" // an object that spec names was not found, so nothing was admitted
	// ReasonPolicyAllows: grants, policies and quotas allow spec.
	ReasonPolicyAllows = "PolicyAllows"
	// ReasonPolicyViolated: spec violates a policy. The group keeps its last admitted spec.
	ReasonPolicyViolated = "PolicyViolated"
	// ReasonPolicyTightened: a policy now forbids the running VMs, which were admitted before. They are kept and repaired.
	ReasonPolicyTightened = "PolicyTightened"
	// ReasonQuotaExceeded: spec needs more than a quota has left. The group keeps its last admitted spec.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonPolicyUnavailable: the operator cannot read policies or quotas, so no group grows or changes.
	ReasonPolicyUnavailable = "PolicyUnavailable"
	ReasonUserDataDenied    = "UserDataDenied"   // the MemberCluster, or RBAC in the member, does not allow the operator to read the Secret with the user data
	ReasonUserDataNotFound  = "UserDataNotFound" // the Secret with the user data does not exist, or lacks the key
	ReasonUserDataTooLarge  = "UserDataTooLarge" // the user data is larger than guests can read; nothing is cloned with it
	ReasonMetadataTooLarge  = "MetadataTooLarge" // the metadata for guests is larger than they can read; nothing is cloned with it
	ReasonNotSupported      = "NotSupported"     // spec.cloneMode needs a snapshot that the template lacks
	ReasonNameConflict      = "NameConflict"     // a VM or folder of others has a name that the VmGroup needs
	ReasonLegacyObject      = "LegacyObject"     // the VmGroup belongs to the original operator
	ReasonEpochAhead        = "EpochAhead"       // status.ownership is ahead of the operator: another client wrote it
	// ReasonAnotherInstallation: VMs of the group carry the stamp of another operator installation. This installation does not touch them.
	ReasonAnotherInstallation = "AnotherInstallation"
	// ReasonRestamping: VMs of this installation's predecessor receive this installation's stamp.
	ReasonRestamping = "Restamping"
	// ReasonGrowthBlocked: disks of VMs cannot grow to the size in spec, for example because of a snapshot.
	ReasonGrowthBlocked = "GrowthBlocked"
	// ReasonTooManyDisks: spec asks for more data disks than a clone of the template has room for, so no VM can be cloned.
	ReasonTooManyDisks = "TooManyDisks"
	// ReasonDiskTooSmall: spec asks for a smaller root disk than that of the template, so no VM can be cloned.
	ReasonDiskTooSmall = "DiskTooSmall"
	// ReasonForeignDisk: VMs to be removed have disks that are not their own, which vCenter would delete with them.
	ReasonForeignDisk = "ForeignDisk"
	// ReasonAdopting: VMs of another group are being adopted. Until that ends, no VM is cloned or removed.
	ReasonAdopting = "Adopting"
	// ReasonAdoptionEnded: all VMs that the group has room for were adopted.
	ReasonAdoptionEnded = "AdoptionEnded"
	// ReasonVMsLeft: as AdoptionEnded, but VMs are left: surplus ones, or ones that are not the group's.
	ReasonVMsLeft = "VMsLeft"
	// ReasonAdoptionWaits: the operator cannot determine at present which VMs to adopt.
	ReasonAdoptionWaits = "AdoptionWaits"
	// ReasonAdoptionRefused: the VMs that the annotation names cannot be adopted.
	ReasonAdoptionRefused = "AdoptionRefused"
	// ReasonAdoptionNotAllowed: a hub administrator must allow the adoption first.
	ReasonAdoptionNotAllowed = "AdoptionNotAllowed"
	// ReasonConvertedToTemplate: a vCenter user converted a VM of the group to a template.
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
	ReasonNoReplica                = "NoReplica"                // no operator replica has reconciled the VmGroup for 30 seconds
	ReasonCopiedStamps             = "CopiedStamps"             // copies of VMs carry the stamp of the VmGroup
	// ReasonReturnedVMs: VMs of the group reappeared after they were replaced.
	ReasonReturnedVMs = "ReturnedVMs"
	// ReasonDeletionPending: the group is deleted or has zero replicas. Its VMs are kept for a few seconds, so that the operator can detect
	// a mass deletion.
	ReasonDeletionPending = "DeletionPending"
	// ReasonMassDeletion: so many VMs of the member are to be removed at once that a user must confirm it.
	ReasonMassDeletion = "MassDeletion"
	// ReasonReleasing: the group is being deleted and keeps its VMs. The deletion waits for operations in progress.
	ReasonReleasing = "Releasing"
	// ReasonReceiptFailed: the hub has no receipt for the VMs to be kept, so the deletion of the group waits.
	ReasonReceiptFailed = "ReceiptFailed"
	// ReasonHubWriteDelayed: the group waits for a write on the hub, whose rate is limited for each member.
	ReasonHubWriteDelayed = "HubWriteDelayed"
	// ReasonForgetHeld: annotation forget has no effect: a requirement is not met, or the vCenter responds. The group keeps its VMs.
	ReasonForgetHeld = "ForgetHeld"
	// ReasonReleaseHeld: the group is being deleted, and its annotation release is not the group's UID. The group keeps its VMs.
	ReasonReleaseHeld = "ReleaseHeld"
)

// Reasons of a VmGroupPolicy's condition Ready.
const (
	ReasonPolicyInForce = "PolicyInForce" // the policy applies to the VmGroups that it selects
	ReasonPolicyInvalid = "PolicyInvalid" // the policy contradicts itself and forbids all VmGroups that it selects
)

// Reasons of a VCenter's conditions.
const (
	ReasonConnected = "Connected" // vCenter responds, and the login works
	ReasonSamePlace = "SamePlace" // another VCenter has the same server, datacenter and folder

	ReasonDatacenterUnclear      = "DatacenterUnclear"      // spec.datacenter and spec.folder do not resolve to the operator's VMs alone; the operator continues in the known folder
	ReasonRootFolderRenamed      = "RootFolderRenamed"      // the root folder has another name than spec.folder
	ReasonVMsElsewhere           = "VMsElsewhere"           // spec resolves to another folder than the one with the VMs
	ReasonConnecting             = "Connecting"             // the first connection is not established yet
	ReasonUnreachable            = "Unreachable"            // the address does not respond
	ReasonSecretNotFound         = "SecretNotFound"         // the Secret with the credentials does not exist
	ReasonSecretInvalid          = "SecretInvalid"          // the Secret lacks the user name or the password
	ReasonSecretForAnotherHost   = "SecretForAnotherHost"   // the Secret names another vCenter for its password
	ReasonSecretWithoutHost      = "SecretWithoutHost"      // the Secret does not name the vCenter for its password
	ReasonInvalidLogin           = "InvalidLogin"           // vCenter rejected the user name or the password
	ReasonCertificateRefused     = "CertificateRefused"     // spec does not trust the certificate of vCenter
	ReasonInvalidConfiguration   = "InvalidConfiguration"   // spec does not resolve to a datacenter, folder or server
	ReasonInUse                  = "InUse"                  // VmGroups still use the VCenter that is being deleted
	ReasonAnotherVCenter         = "AnotherVCenter"         // another vCenter than before responds at the address
	ReasonPrivilegesMissing      = "PrivilegesMissing"      // the account lacks privileges; the message lists them
	ReasonPrivilegesSufficient   = "PrivilegesSufficient"   // the account has all privileges that the operator needs
	ReasonInventoryComplete      = "InventoryComplete"      // the operator knows every VM below the root folder
	ReasonInventorySuddenlyEmpty = "InventorySuddenlyEmpty" // the root folder had VMs and appears empty; nothing is created or deleted
	ReasonGroupGone              = "GroupGone"              // the VmGroup of the VMs does not exist
	ReasonOutsideOfRoot          = "OutsideOfRoot"          // VMs with the stamp are outside of the root folder
	ReasonNotLookedEverywhere    = "NotLookedEverywhere"    // VMs with the stamp can be where the account cannot read
	ReasonNotAdopted             = "NotAdopted"             // kept VMs wait for a VmGroup that adopts them
	ReasonNoSignOfLife           = "NoSignOfLife"           // the predecessor has no session
	ReasonPredecessorLives       = "PredecessorLives"       // the predecessor has a session, or its sessions cannot be read
)

// Reasons of a MemberCluster's conditions.
const (
	ReasonEngaged            = "Engaged"            // at least one replica serves the member
	ReasonKubeconfigNotFound = "KubeconfigNotFound" // the Secret with the kubeconfig does not exist
	ReasonUserManaged        = "UserManaged"        // a user renews the credentials of the kubeconfigs; the message has their expiry
	ReasonCredentialsExpired = "CredentialsExpired" // the credential of a kubeconfig has expired
	ReasonRenewed            = "Renewed"            // the operator renews the tokens; the message has their expiry
	ReasonRenewalFails       = "RenewalFails"       // the operator could not renew a token, which is still valid
	ReasonCredentialsRevoked = "CredentialsRevoked" // the member does not accept a token that has not expired
	ReasonKubeconfigRefused  = "KubeconfigRefused"  // the kubeconfig is malformed, or has fields that the operator does not accept
	ReasonMemberUnreachable  = "MemberUnreachable"  // the API server of the member does not respond
	// ReasonLimitExceeded: the member's API server sends more than the operator accepts, or names that Kubernetes does not allow, or the hub
	// has no room to record another cluster. Of a VCenter: the server sends more than the operator accepts.
	ReasonLimitExceeded = "LimitExceeded"
	// ReasonRedirectRefused: the server redirects to another address, to which the operator does not send the credentials.
	ReasonRedirectRefused = "RedirectRefused"
	// ReasonAddressRefused: the operator must not connect to the address.
	ReasonAddressRefused = "AddressRefused"
	// ReasonCacheBehind: the member responds, but lists or watches do not complete, or end at once.
	ReasonCacheBehind         = "CacheBehind"
	ReasonClaimed             = "Claimed"             // this installation holds the claim on the member
	ReasonClaimedByAnotherHub = "ClaimedByAnotherHub" // another installation holds the claim on the member
	ReasonDuplicateMember     = "DuplicateMember"     // two MemberClusters resolve to the same cluster
	// ReasonAnotherCluster: the kubeconfig reaches another cluster than the one that the MemberCluster is pinned to.
	ReasonAnotherCluster = "AnotherCluster"
	// ReasonKnownByAnotherName: a MemberCluster of another name had this cluster.
	ReasonKnownByAnotherName = "KnownByAnotherName"
	ReasonCRDInstalled       = "CRDInstalled"     // the member serves a VmGroup CRD that the operator understands
	ReasonCRDMissing         = "CRDMissing"       // the member does not serve the VmGroup CRD
	ReasonCRDNewer           = "CRDNewer"         // the VmGroup CRD of the member belongs to a later version of the operator
	ReasonCRDForeign         = "CRDForeign"       // the VmGroup CRD of the member was not installed by the operator
	ReasonCRDFailed          = "CRDFailed"        // the VmGroup CRD could not be installed or is not served
	ReasonLocalDisabled      = "LocalDisabled"    // the hub is disabled as a member
	ReasonRevisionWentBack   = "RevisionWentBack" // the storage of the member has a lower revision than before
	ReasonRemovalsHeld       = "RemovalsHeld"     // VmGroups have MassDeletion
	// ReasonAllowanceInvalid, also of a VCenter: an annotation is not a time, or is too far ahead.
	ReasonAllowanceInvalid = "AllowanceInvalid"
	// Reasons of AdmissionReady.
	ReasonAdmissionInstalled  = "AdmissionInstalled"  // everything is in place
	ReasonAdmissionPending    = "AdmissionPending"    // not installed yet
	ReasonDefaultsPending     = "DefaultsPending"     // all is in place except the policy that sets defaults
	ReasonAdmissionForbidden  = "AdmissionForbidden"  // the operator's identity lacks permission to install the objects
	ReasonAdmissionFailed     = "AdmissionFailed"     // the member refused an object
	ReasonAdmissionNotManaged = "AdmissionNotManaged" // spec.manage is None
	ReasonNoWebhook           = "NoWebhook"           // policies are in place, but the webhook has no URL or certificate
	ReasonCABundleBehind      = "CABundleBehind"      // the member does not have the current certificate authority yet
	ReasonUnauthorized        = "Unauthorized"        // the member rejects the operator's credentials
)
