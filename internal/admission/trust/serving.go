package trust

import "strings"

// PublishedKey is the entry under which a replica publishes what it serves.
const PublishedKey = "tls"

// fingerprintLength is how many hexadecimal digits of a hash are published: they are written every two seconds.
const fingerprintLength = 32

// Serving is what a replica publishes of the leaf that it serves.
type Serving struct {
	// Leaf is the beginning of its fingerprint, "none" when it serves none, "" when nothing is known.
	Leaf string
	// Authority is the beginning of the hash of the authority that signed it, "" when that is not known.
	Authority string
}

// ServingNothing is published by a replica that has no certificate.
var ServingNothing = Serving{Leaf: "none"}

// ServingLeaf describes a leaf; authority is the one by whose name it is kept.
func ServingLeaf(leaf *Leaf) Serving {
	if leaf == nil {
		return ServingNothing
	}
	s := Serving{Leaf: short(leaf.Fingerprint)}
	if len(leaf.Signers) > 0 {
		s.Authority = short(leaf.Signers[0])
	}
	return s
}

// String is what is published.
func (s Serving) String() string { return strings.TrimSpace(s.Leaf + " " + s.Authority) }

// ParseServing reads what a replica published; "" is the zero value.
func ParseServing(published string) Serving {
	leaf, authority, _ := strings.Cut(published, " ")
	return Serving{Leaf: leaf, Authority: authority}
}

// needs reports whether a client has to trust the authority to accept what is served; the leaf that shall be served needs
// others.
func (s Serving) needs(authority, served string) bool {
	if s == ServingNothing || s.Leaf == short(served) {
		return false
	}
	return s.Authority == "" || s.Authority == short(authority)
}

func short(hash string) string { return hash[:min(len(hash), fingerprintLength)] }
