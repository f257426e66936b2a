// Package revision notices that the storage of an API server has gone back in time: etcd came from a backup, and counts its revisions
// on from there. Informers do not notice. They watch from the revision that they saw last, and hear nothing until the storage has passed it.
//
// What is compared are resourceVersions of lists without a resourceVersion of their own. Every API server answers these with the newest
// revision there is, or a later one, whichever of several servers is asked, and however far behind its watch cache is. So a list that is
// answered later never has a lower one, unless the storage went back. With a revision bump (etcdutl snapshot restore --bump-revision) the
// numbers do not go back, and nothing is noticed; informers then list anew by themselves.
package revision

import "k8s.io/apimachinery/pkg/util/resourceversion"

// MaxLength is how many bytes a resourceVersion may have. etcd's revisions are numbers of 64 bits, which have 19 digits at most, and API servers that
// pass Kubernetes' conformance tests answer with numbers of 128 bits, which have 39. What is longer comes from a server that means to fill the memory
// of whoever remembers it.
const MaxLength = 64

// TooLong reports whether a resourceVersion is longer than [MaxLength].
func TooLong(resourceVersion string) bool { return len(resourceVersion) > MaxLength }

// Mark is the newest revision that was seen of one storage. The zero value has seen none. It is not safe for concurrent use.
type Mark struct{ seen string }

// Seen is the revision that was seen last.
func (m Mark) Seen() string { return m.seen }

// WentBack reports whether a revision is lower than one that was seen before. It changes nothing. Versions that cannot be compared are
// none of an API server that passes Kubernetes' conformance tests; nothing is concluded from them.
func (m Mark) WentBack(revision string) bool {
	if m.seen == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(revision, m.seen)
	return err == nil && order < 0
}

// See takes a revision for the newest one, also a lower one: that is of a storage that went back, and counts from there. One that is too long is not kept.
func (m *Mark) See(revision string) {
	if TooLong(revision) {
		return
	}
	if _, err := resourceversion.CompareResourceVersion(revision, revision); err == nil {
		m.seen = revision
	}
}
