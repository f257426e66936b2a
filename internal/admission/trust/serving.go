package trust

import "strings"

// PublishedKey is the entry with which a replica publishes its served leaf.
const PublishedKey = "tls"

// fingerprintLength is how many hexadecimal digits of a hash are published: replicas write them every two seconds.
const fingerprintLength = 32

// Serving is what a replica publishes about the leaf that it serves.
type Serving struct {
	// Leaf is the beginning of the fingerprint of the served certificate. It is "none" if the replica serves none, and "" if unknown.
	Leaf string
	// Authority is the beginning of the hash of the authority that signed it, "" if unknown.
	Authority string
}

// ServingNothing is published by a replica that has no certificate.
var ServingNothing = Serving{Leaf: "none"}

// ServingLeaf describes a leaf. Authority is the first of its signers.
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

// String returns the published text.
func (s Serving) String() string { return strings.TrimSpace(s.Leaf + " " + s.Authority) }

// ParseServing reads the data that a replica published; "" is the zero value.
func ParseServing(published string) Serving {
	leaf, authority, _ := strings.Cut(published, " ")
	return Serving{Leaf: leaf, Authority: authority}
}

// needs reports whether a client must trust the authority to accept what the replica serves. It is false for the leaf
// that is to be served, which needs others.
func (s Serving) needs(authority, served string) bool {
	if s == ServingNothing || s.Leaf == short(served) {
		return false
	}
	return s.Authority == "" || s.Authority == short(authority)
}

func short(hash string) string { return hash[:min(len(hash), fingerprintLength)] }
