package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// revisionVersion names the fields that a revision is made of and how. Changing what is hashed needs a new
// version and code that still computes the old one for VMs that carry it; otherwise an upgrade of the operator
// would report, and later roll, every VM.
const revisionVersion = "1"

// Revision returns the revision of a spec: equal for equal VMs, different when a new VM would differ. Fields
// at their default do not count, so that a default added to the API later changes no revision.
func Revision(spec v1alpha1.VmGroupSpec) string { return hash(ShapeOf(spec)) }

// ShapeOf returns what VMs of a spec are made of. Its revision is that of the spec.
func ShapeOf(spec v1alpha1.VmGroupSpec) v1alpha1.Revision {
	shape := v1alpha1.Revision{
		CPU: spec.CPU, Memory: spec.Memory, Template: spec.Template, Placement: spec.Placement, CloneMode: spec.CloneMode,
		UserDataSecretRef: spec.UserDataSecretRef,
	}
	if s := spec.UpdateStrategy; s != nil {
		shape.ReplaceTrigger = s.ReplaceTrigger
	}
	shape.Revision = hash(shape)
	return *shape.DeepCopy()
}

// Believed returns the shapes that status records as far as they are what they say: the revision that is computed of one is the one that it names.
// Status can be written by hand, and an API server that does not keep to the schema can show any number of them: only as many count as the operator records.
func Believed(recorded []v1alpha1.Revision) []Shape {
	var shapes []Shape
	for _, r := range recorded[:min(len(recorded), v1alpha1.MaxRevisions)] {
		known := slices.ContainsFunc(shapes, func(s Shape) bool { return s.Recorded.Revision == r.Revision })
		if r.Revision == hash(r) && !known {
			shapes = append(shapes, Shape{Recorded: r})
		}
	}
	return shapes
}

// Apply returns spec with another shape: what a VM of that shape is cloned with.
func Apply(shape v1alpha1.Revision, spec v1alpha1.VmGroupSpec) v1alpha1.VmGroupSpec {
	out := *spec.DeepCopy()
	shape = *shape.DeepCopy()
	out.CPU, out.Memory, out.Template, out.CloneMode = shape.CPU, shape.Memory, shape.Template, shape.CloneMode
	out.Placement, out.UserDataSecretRef = shape.Placement, shape.UserDataSecretRef
	if out.UpdateStrategy != nil || shape.ReplaceTrigger != "" {
		if out.UpdateStrategy == nil {
			out.UpdateStrategy = &v1alpha1.UpdateStrategy{}
		}
		out.UpdateStrategy.ReplaceTrigger = shape.ReplaceTrigger
	}
	return out
}

func hash(spec v1alpha1.Revision) string {
	sum := sha256.Sum256(fields(spec))
	return revisionVersion + "-" + hex.EncodeToString(sum[:5])
}

// fields is the text that a revision is the hash of. Equal VMs have the same.
func fields(spec v1alpha1.Revision) []byte {
	b := make([]byte, 0, 256) // it is computed in each look, of each shape
	field := func(name, value string) {
		if value != "" {
			b = append(append(b, name...), '=')
			b = append(strconv.AppendQuote(b, value), '\n')
		}
	}
	field("cpu", strconv.Itoa(int(spec.CPU)))
	field("memory", strconv.Itoa(int(spec.Memory)))
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
	field("replaceTrigger", spec.ReplaceTrigger)
	return b
}
