package group

import (
	"encoding/json"
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// ownMetadata is an upper bound of the metadata that the operator adds for a guest, in bytes.
const ownMetadata = 512

// tooMuchMetadata reports that guests could not read the metadata of spec, or returns nil. The schema limits it in characters, of which some become six bytes.
func tooMuchMetadata(spec v1alpha1.VmGroupSpec) *plan.Blocker {
	if spec.Guest == nil {
		return nil
	}
	size := ownMetadata
	for key, value := range spec.Guest.Metadata {
		size += len(key) + len(value) + len(`"":"",`)
	}
	if 6*size < vsphere.LongestGuestValue/2 {
		return nil // for any content
	}
	text, err := json.Marshal(spec.Guest.Metadata)
	if err == nil {
		err = vsphere.CheckGuestValue(append(text, make([]byte, ownMetadata)...))
	}
	if err == nil {
		return nil
	}
	return &plan.Blocker{Reason: v1alpha1.ReasonMetadataTooLarge, Terminal: true, Message: fmt.Sprintf(
		"spec.guest.metadata is too large: %v. Shorten it; a guest can get more from user data", err)}
}
