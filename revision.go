package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// revisionVersion names the fields that a revision is made of and how. Changing what is hashed needs a new
// version and code that still computes the old one for VMs that carry it; otherwise an upgrade of the operator
// would report, and later roll, every VM.
const revisionVersion = "1"

// Revision returns the revision of a spec: equal for equal VMs, different when a new VM would differ. Fields
// at their default do not count, so that a default added to the API later changes no revision.
func Revision(spec v1alpha1.VmGroupSpec) string {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s=%q\n", name, value)
		}
	}
	field("cpu", fmt.Sprint(spec.CPU))
	field("memory", fmt.Sprint(spec.Memory))
	field("template", spec.Template)
	if p := spec.Placement; p != nil {
		field("resourcePool", p.ResourcePool)
		field("datastore", p.Datastore)
		field("network", p.Network)
	}
	if spec.CloneMode != v1alpha1.CloneFull {
		field("cloneMode", string(spec.CloneMode))
	}
	if r := spec.UserDataSecretRef; r != nil {
		field("userData", r.Name)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return revisionVersion + "-" + hex.EncodeToString(sum[:])[:10]
}
