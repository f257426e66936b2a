package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// revisionVersion names the hashed fields of a revision and the method. A change of the hash needs a new version, and code that still computes the old one for VMs that carry it.
// Otherwise an upgrade of the operator would report, and later update, every VM.
const revisionVersion = "1"

// Revision returns the revision of a spec: equal for equal VMs, different if a new VM would differ. Fields at their default do not count, so that a default added to the API
// later changes no revision.
func Revision(spec v1alpha1.VmGroupSpec) string { return ShapeOf(spec).Revision }

// ShapeOf returns the shape of the VMs of a spec. Its revision is that of the spec.
func ShapeOf(spec v1alpha1.VmGroupSpec) v1alpha1.Revision {
	shape := v1alpha1.Revision{VMShape: spec.Shape()}
	if s := spec.UpdateStrategy; s != nil {
		shape.ReplaceTrigger = s.ReplaceTrigger
	}
	return Named(shape)
}

// Named returns a shape with the revision of its fields.
func Named(shape v1alpha1.Revision) v1alpha1.Revision {
	shape.Revision = hash(shape)
	return shape
}

// Believed returns the recorded shapes whose computed revision matches the revision that they name. Status can be written by hand, and an API server that ignores the schema can
// return any number of shapes. So only as many count as the operator records.
func Believed(recorded []v1alpha1.Revision) []Shape {
	return believed(recorded, v1alpha1.MaxRevisions, false)
}

// BelievedAdopted is Believed for the shapes of adopted VMs.
func BelievedAdopted(recorded []v1alpha1.Revision) []Shape {
	return believed(recorded, v1alpha1.MaxAdoptedRevisions, true)
}

func believed(recorded []v1alpha1.Revision, most int, adopted bool) (shapes []Shape) {
	for _, r := range recorded[:min(len(recorded), most)] {
		known := slices.ContainsFunc(shapes, func(s Shape) bool { return s.Recorded.Revision == r.Revision })
		if r.Revision == hash(r) && !known {
			shapes = append(shapes, Shape{Recorded: r, Adopted: adopted})
		}
	}
	return shapes
}

// Apply returns spec with another shape: the spec for a clone of that shape.
func Apply(shape v1alpha1.Revision, spec v1alpha1.VmGroupSpec) v1alpha1.VmGroupSpec {
	out := *spec.DeepCopy()
	out.SetShape(shape.VMShape)
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

// fields returns the text whose hash is the revision. Equal VMs have the same text.
func fields(spec v1alpha1.Revision) []byte {
	b := make([]byte, 0, 256) // it is computed in each run, for each shape
	field := func(name, value string) {
		if value != "" {
			b = append(append(b, name...), '=')
			b = append(strconv.AppendQuote(b, value), '\n')
		}
	}
	field("cpu", strconv.Itoa(int(spec.CPU)))
	if n := spec.CoresPerSocket; n != 0 {
		field("coresPerSocket", strconv.Itoa(int(n)))
	}
	field("memory", strconv.Itoa(int(spec.Memory)))
	field("template", spec.Template)
	if n := spec.RootDiskGiB(); n != 0 {
		field("disks.root.sizeGiB", strconv.Itoa(int(n)))
	}
	for _, d := range spec.DataDisks() {
		field("disks.data."+d.Name, strconv.Itoa(int(d.SizeGiB))+" "+string(d.Provisioning))
	}
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
