package trust

import (
	"encoding/json"
	"slices"
	"time"
)

// SecretName is the Secret in the release namespace that the leader writes and all replicas read.
const SecretName = "vmgroup-operator-admission"

// Keys of the Secret.
const (
	KeyPath        = "path-key"
	KeyAuthorities = "authorities.pem"
	KeyServedCert  = "served.crt"
	KeyServedKey   = "served.key"
	// KeyBundles has the recent bundles as JSON. A member acknowledges a hash; the bundles map it to the authorities that the member
	// trusts.
	KeyBundles = "bundles.json"
)

// maxBundles is how many bundles are recorded. If a member has acknowledged an older one, the authorities that it trusts are unknown.
const maxBundles = 32

// Bundle is a set of authorities that was distributed to members.
type Bundle struct {
	// Hash is the [BundleHash], which members acknowledge.
	Hash string `json:"hash"`
	// Since is when the bundle was first distributed.
	Since time.Time `json:"since"`
	// Authorities are their hashes.
	Authorities []string `json:"authorities"`
}

// State is the content of the Secret.
type State struct {
	// PathKey is the key of the webhook's paths; see [Segment].
	PathKey []byte
	// Authorities are those that members must trust.
	Authorities []Authority
	// Served is the leaf that all replicas must serve; nil if none was ever chosen.
	Served *Leaf
	// Bundles are the recent sets of Authorities, the newest last.
	Bundles []Bundle
}

// ParseState reads the data of the Secret. It leaves an unreadable part empty, and the next decision writes that part anew.
func ParseState(data map[string][]byte) State {
	s := State{Authorities: ParseAuthorities(data[KeyAuthorities])}
	if len(data[KeyPath]) >= keyLength {
		s.PathKey = data[KeyPath]
	}
	if leaf, err := ServedOf(data); err == nil {
		leaf.FindSigners(s.Authorities)
		s.Served = leaf
	}
	if err := json.Unmarshal(data[KeyBundles], &s.Bundles); err != nil {
		s.Bundles = nil
	}
	return s
}

// ServedOf reads the leaf that the leader chose.
func ServedOf(data map[string][]byte) (*Leaf, error) {
	return ParseLeaf(Pair{Certificate: data[KeyServedCert], Key: data[KeyServedKey]})
}

// Encode returns the data of the Secret.
func (s State) Encode() map[string][]byte {
	bundles, _ := json.Marshal(s.Bundles) // strings and times cannot fail
	data := map[string][]byte{KeyPath: s.PathKey, KeyAuthorities: EncodeAuthorities(s.Authorities), KeyBundles: bundles}
	if s.Served != nil {
		data[KeyServedCert], data[KeyServedKey] = s.Served.Pair.Certificate, s.Served.Pair.Key
	}
	return data
}

// note appends the present authorities to the bundles, if they differ from those of the last bundle.
func (s *State) note(now time.Time) {
	hash := BundleHash(s.Authorities)
	if n := len(s.Bundles); n > 0 && s.Bundles[n-1].Hash == hash || n == 0 && hash == "" {
		return
	}
	hashes := make([]string, 0, len(s.Authorities))
	for _, a := range s.Authorities {
		hashes = append(hashes, a.Hash)
	}
	slices.Sort(hashes)
	s.Bundles = append(slices.Clone(s.Bundles), Bundle{Hash: hash, Since: now, Authorities: hashes})
	s.Bundles = s.Bundles[max(0, len(s.Bundles)-maxBundles):]
}

// trusted returns the authorities of the bundle with this hash, or false if it is not recorded.
func (s *State) trusted(hash string) (authorities []string, known bool) {
	for i := len(s.Bundles) - 1; i >= 0; i-- {
		if s.Bundles[i].Hash == hash {
			return s.Bundles[i].Authorities, true
		}
	}
	return nil, false
}

// since returns the time since which an authority has been distributed without a break. It is zero if the authority is not
// distributed.
func (s *State) since(authority string) time.Time {
	var since time.Time
	for i := len(s.Bundles) - 1; i >= 0 && slices.Contains(s.Bundles[i].Authorities, authority); i-- {
		since = s.Bundles[i].Since
	}
	return since
}
