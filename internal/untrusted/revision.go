package untrusted

import "k8s.io/apimachinery/pkg/util/resourceversion"

// MaxResourceVersion is the maximum length of a resourceVersion, in bytes. etcd's revisions are numbers of 64 bits, which have at most 19 digits. API servers
// that pass Kubernetes' conformance tests return numbers of 128 bits, which have 39 digits. A longer resourceVersion would fill the memory of the process that
// keeps it.
const MaxResourceVersion = 64

// MaxContinue is the maximum length of a continue token of a list, in bytes. An API server makes the token of a revision and the name at which the next page
// begins; it has less than 1 KiB. The token becomes part of a URL, of which several copies are made, with up to three bytes for each byte of the token.
const MaxContinue = 4 << 10

// RevisionMark is the newest revision that was seen of one storage. The zero value has seen none. It is not safe for concurrent use.
//
// It detects that the storage of an API server went back in time: etcd was restored from a backup, and continues its revisions from there. Informers do not
// detect that. They watch from the last revision that they saw, and get no event until the storage has passed it.
//
// Only compare resourceVersions of lists that were requested without a resourceVersion. Every API server answers these with the newest revision, or a later
// one. This holds for each of several servers, however far behind its watch cache is. So a later list never has a lower revision, unless the storage went
// back. With a revision bump (etcdutl snapshot restore --bump-revision), the numbers do not go back, and RevisionMark detects nothing; informers then list
// anew.
type RevisionMark struct{ seen string }

// Seen returns the revision that was seen last.
func (m RevisionMark) Seen() string { return m.seen }

// WentBack reports whether a revision is lower than one that was seen before. It changes nothing. API servers that pass Kubernetes' conformance tests return
// only comparable versions; for others, it returns false.
func (m RevisionMark) WentBack(revision string) bool {
	if m.seen == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(revision, m.seen)
	return err == nil && order < 0
}

// See records a revision as the newest one, even a lower one: a storage that went back continues from there. It ignores a revision that is too long.
func (m *RevisionMark) See(revision string) {
	if len(revision) > MaxResourceVersion {
		return
	}
	if _, err := resourceversion.CompareResourceVersion(revision, revision); err == nil {
		m.seen = revision
	}
}
