package inventory

import "github.com/codeconnect/vmgroup-operator/internal/vsphere"

// Moment is a point in the index's own time. A read takes one before its first call (Begin).
type Moment uint64

// reading is a read of vCenter that is being applied. vCenter evaluates each object at some time between its beginning and its arrival.
type reading struct {
	began Moment
	kind  readingKind
}

type readingKind int

const (
	// aListing shows everything below the root. What it cannot decide the next one does, or the stream.
	aListing readingKind = iota
	// aLookUp shows single objects. What it cannot decide is looked up once more.
	aLookUp
	// aStream is the first answer of a stream. The stream tells each later change, so the base properties in its answer count from their
	// arrival: they win over all reads that began before.
	aStream
)

// now returns the moment that is later than that of every read that has begun, and no later than that of every read that will begin. What
// counts from now on cannot be overruled by a read that is under way.
func (x *Index) now() Moment { return x.moment + 1 }

// unlisted reports whether a look-up shows an object that the index does not know, and that an overlapping full listing therefore lacks. The look-up or the listing may
// be the older one. If the object was destroyed before the first answer of a stream, the stream never reports that it left.
func (x *Index) unlisted(state State, r reading) bool {
	return state == Unknown && r.kind == aLookUp && r.began < x.arrived
}

// doubt asks for another look-up of an object that two overlapping reads show differently.
func (x *Index) doubt(ref vsphere.Ref) { x.doubted[ref] = struct{}{} }

// Doubted returns, once, the objects that overlapping reads show differently. The caller reads them again.
func (x *Index) Doubted() []vsphere.Ref {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.doubted) == 0 {
		return nil
	}
	refs := make([]vsphere.Ref, 0, len(x.doubted))
	for ref := range x.doubted {
		refs = append(refs, ref)
	}
	clear(x.doubted)
	sortRefs(refs)
	return refs
}

// Begin returns a new moment. Take it before asking vCenter.
func (x *Index) Begin() Moment {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.moment++
	return x.moment
}

// Applied returns the moment with which the last applied full listing began; zero before the first, and zero
// while the index is not valid. It is the beginning and not the arrival: what an operation concludes from an object that is not there holds only if
// the listing was read after the operation.
func (x *Index) Applied() Moment {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.valid {
		return 0
	}
	return x.applied
}
