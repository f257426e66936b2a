package group

// Step is the kind of a decision.
type Step string

// The steps. Wait, RaiseEpoch, Report, Act and Release end the pass. The result of each other step is a fact of the next decision, which does not ask for it again.
const (
	// Wait does nothing.
	Wait Step = "Wait"
	// Report writes Status, if there is one, and does nothing else.
	Report Step = "Report"
	// RaiseEpoch raises the epochs of the shards above one in status that is later.
	RaiseEpoch Step = "RaiseEpoch"
	// RemoveLegacyFinalizer removes the finalizer of the original operator, as an annotation asks: at once, or after the adoption of its VMs.
	RemoveLegacyFinalizer Step = "RemoveLegacyFinalizer"
	// AddFinalizer adds the finalizer of this operator.
	AddFinalizer Step = "AddFinalizer"
	// ReadDefinition reads the CRD of a group that is being deleted. Its answer is Definition.
	ReadDefinition Step = "ReadDefinition"
	// ClaimAdoption claims the VMs of another group before their adoption. Its answer is Adoption.Answer.
	ClaimAdoption Step = "ClaimAdoption"
	// RecordOwner writes Status, which differs from the status of the group in its owner at most. The write proves that the API server has this version of the group.
	RecordOwner Step = "RecordOwner"
	// MakeFolder creates the folder of the group unless it exists. Its answer is FolderMade.
	MakeFolder Step = "MakeFolder"
	// AskQuota returns surplus quota, and claims what spec needs. Its answer is Quota.
	AskQuota Step = "AskQuota"
	// ReadUserData reads the user data Secrets that Secrets names. Its answer is UserData.
	ReadUserData Step = "ReadUserData"
	// PutRecord stores Record on the hub. Its answer is Recorded.
	PutRecord Step = "PutRecord"
	// Act writes Status, if there is one, and then submits as much of Plan as the budget of the vCenter allows.
	Act Step = "Act"
	// RemoveFolder removes the folder of the group. Its answer is FolderRemoved.
	RemoveFolder Step = "RemoveFolder"
	// WriteReceipt stores on the hub the VMs that stay without the group. Its answer is Receipt.
	WriteReceipt Step = "WriteReceipt"
	// Release removes the finalizer of a group whose VMs were deleted, or stay without it.
	Release Step = "Release"
)

// Steps returns all steps.
func Steps() []Step {
	return []Step{
		Wait, Report, RaiseEpoch, RemoveLegacyFinalizer, AddFinalizer, ReadDefinition, ClaimAdoption, RecordOwner,
		MakeFolder, AskQuota, ReadUserData, PutRecord, Act, RemoveFolder, WriteReceipt, Release,
	}
}
