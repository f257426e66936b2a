package untrusted

import "k8s.io/apimachinery/pkg/util/resourceversion"

// MaxResourceVersion is how many bytes a resourceVersion can have. etcd's revisions are numbers of 64 bits, which have at most 19 digits. API servers that
// pass Kubernetes' conformance tests answer with numbers of 128 bits, which have 39. A longer one fills the memory of the process that keeps it.
const MaxResourceVersion = 64

// MaxContinue is how many bytes the text can have that a page of a list gives for the next page. That of an API server is made of a revision and the name at
// which the next page begins, and has less than 1 KiB. It becomes part of a URL, of which several copies are made, with up to three bytes for each of its own.
const MaxContinue = 4 << 10

// RevisionMark is the newest revision that was seen of one storage. The zero value has seen none. It is not safe for concurrent use.
//
// It notices that the storage of an API server went back in time: etcd was restored from a backup, and counts its revisions on from there. Informers do
// not notice. They watch from the revision that they saw last, and get no event until the storage has passed it.
//
// Only compare resourceVersions of lists that were asked for without a resourceVersion. Every API server answers these with the newest revision there is,
// or a later one, whichever of several servers is asked, and however far behind its watch cache is. So a later list never has a lower one, unless the
// storage went back. With a revision bump (etcdutl snapshot restore --bump-revision) the numbers do not go back, and RevisionMark notices nothing;
// informers then list anew.
type RevisionMark struct{ seen string }

// Seen is the revision that was seen last.
func (m RevisionMark) Seen() string { return m.seen }

// WentBack reports whether a revision is lower than one that was seen before. It changes nothing. Versions that cannot be compared are
// none of an API server that passes Kubernetes' conformance tests; nothing is concluded from them.
func (m RevisionMark) WentBack(revision string) bool {
	if m.seen == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(revision, m.seen)
	return err == nil && order < 0
}

// See takes a revision for the newest one, also a lower one: that is of a storage that went back, and counts from there. One that is too long is not kept.
func (m *RevisionMark) See(revision string) {
	if len(revision) > MaxResourceVersion {
		return
	}
	if _, err := resourceversion.CompareResourceVersion(revision, revision); err == nil {
		m.seen = revision
	}
}
