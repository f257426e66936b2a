package inventory

import "github.com/codeconnect/vmgroup-operator/internal/vsphere"

// Moment is a point in the index's own time. A read takes one before its first call (Begin).
type Moment uint64

// reading is a read of vCenter that is being applied. vCenter evaluates each object at some time between the read's beginning and its arrival.
type reading struct {
	began Moment
	kind  readingKind
}

type readingKind int

const (
	// aListing shows everything below the root. The next listing or the stream resolves its open cases.
	aListing readingKind = iota
	// aLookUp shows single objects. Another look-up resolves its open cases.
	aLookUp
	// aStream is the first answer of a stream. The stream reports each later change, so the base properties in this answer count from their arrival and override
	// all reads that began before.
	aStream
)

// now returns a moment later than that of every read that has begun, and no later than that of every future read. A read in progress cannot override content
// from now on.
func (x *Index) now() Moment { return x.moment + 1 }

// unlisted reports whether a look-up shows an unknown object, which an overlapping full listing therefore lacks. Either of the two can be older. If the object
// was destroyed before the first answer of a stream, the stream never reports that it left.
func (x *Index) unlisted(state State, r reading) bool {
	return state == Unknown && r.kind == aLookUp && r.began < x.arrived
}

// doubt requests another look-up of an object that two overlapping reads show differently.
func (x *Index) doubt(ref vsphere.Ref) { x.doubted[ref] = struct{}{} }

// Doubted returns, once, the objects that overlapping reads show differently. The caller must read them again.
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
