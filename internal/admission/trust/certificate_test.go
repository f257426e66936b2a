package trust

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust/trusttest"
)

var certain = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func newPair(t *testing.T, a *trusttest.Authority, from, to time.Duration) Pair {
	t.Helper()
	certificate, key := a.Issue(t, certain.Add(from), certain.Add(to))
	return Pair{Certificate: certificate, Key: key}
}

func parse(t *testing.T, pair Pair) *Leaf {
	t.Helper()
	leaf, err := ParseLeaf(pair)
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

func TestSignersAreThoseThatAClientMayTrust(t *testing.T) {
	a, b := trusttest.NewAuthority(t, certain, certain.Add(100*day)), trusttest.NewAuthority(t, certain, certain.Add(100*day))
	again := a.Again(t, certain.Add(5*day), certain.Add(200*day)) // renewed with the same key
	leaf := parse(t, newPair(t, a, 0, 10*day))
	known := ParseAuthorities(slices.Concat(a.PEM, b.PEM, again.PEM))
	if len(known) != 3 {
		t.Fatalf("read %d authorities, want 3", len(known))
	}
	leaf.FindSigners(known)
	if want := []string{known[0].Hash, known[2].Hash}; !slices.Equal(leaf.Signers, want) {
		t.Errorf("signers %v, want %v", leaf.Signers, want)
	}
	now := certain.Add(day)
	if !leaf.usable(known[:1], now) || leaf.usable(known[1:2], now) || leaf.usable(known[2:], now) {
		t.Error("usable with another authority, or with one that is not valid yet")
	}
	if leaf.usable(known, certain.Add(11*day)) || leaf.usable(known, certain.Add(-time.Second)) {
		t.Error("usable outside of its validity")
	}
	if !leaf.end(known).Equal(certain.Add(10 * day)) {
		t.Errorf("it ends at %s", leaf.end(known))
	}
}

func TestALeafEndsWithItsAuthority(t *testing.T) {
	a := trusttest.NewAuthority(t, certain, certain.Add(5*day))
	leaf := parse(t, newPair(t, a, 0, 10*day))
	known := ParseAuthorities(a.PEM)
	leaf.FindSigners(known)
	if !leaf.end(known).Equal(certain.Add(5 * day)) {
		t.Errorf("it ends at %s", leaf.end(known))
	}
}

func TestAKeyOfAnotherCertificateIsRefused(t *testing.T) {
	a := trusttest.NewAuthority(t, certain, certain.Add(day))
	one, other := newPair(t, a, 0, day), newPair(t, a, 0, day)
	if _, err := ParseLeaf(Pair{Certificate: one.Certificate, Key: other.Key}); err == nil {
		t.Error("a key that does not fit was accepted")
	}
	if _, err := ParseLeaf(Pair{Certificate: one.Certificate}); !errors.Is(err, ErrNoPair) {
		t.Errorf("without a key: %v", err)
	}
}

func TestAuthoritiesSurviveRubbish(t *testing.T) {
	a := trusttest.NewAuthority(t, certain, certain.Add(day))
	_, key := a.Issue(t, certain, certain.Add(day))
	content := slices.Concat([]byte("a comment\n"), key, a.PEM, a.PEM, []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	known := ParseAuthorities(content)
	if len(known) != 1 || !bytes.Equal(EncodeAuthorities(known), a.PEM) {
		t.Errorf("read %d authorities", len(known))
	}
}

// TestBundleHashIsTheOneThatMembersAcknowledge compares with the bundle in the objects of a member.
func TestBundleHashIsTheOneThatMembersAcknowledge(t *testing.T) {
	a, b := trusttest.NewAuthority(t, certain, certain.Add(day)), trusttest.NewAuthority(t, certain, certain.Add(day))
	both := ParseAuthorities(slices.Concat(a.PEM, b.PEM))
	turned := []Authority{both[1], both[0]}
	if BundleHash(both) != BundleHash(turned) {
		t.Error("the hash depends on the order")
	}
	for _, set := range [][]Authority{nil, both[:1], both} {
		if got, want := BundleHash(set), objects.BundleHash(EncodeAuthorities(set)); got != want {
			t.Errorf("%d authorities: %q, and the objects say %q", len(set), got, want)
		}
	}
}

func TestStateSurvivesTheSecret(t *testing.T) {
	a := trusttest.NewAuthority(t, certain, certain.Add(day))
	s := State{PathKey: bytes.Repeat([]byte{7}, keyLength), Authorities: ParseAuthorities(a.PEM), Served: parse(t, newPair(t, a, 0, day))}
	s.note(certain)
	got := ParseState(s.Encode())
	if !got.same(s) || !bytes.Equal(got.PathKey, s.PathKey) || !got.Bundles[0].Since.Equal(certain) || len(got.Served.Signers) != 1 {
		t.Errorf("read back: %+v", got)
	}
	if trusted, known := got.trusted(BundleHash(s.Authorities)); !known || !slices.Equal(trusted, []string{s.Authorities[0].Hash}) {
		t.Errorf("the bundle is %v, known: %t", trusted, known)
	}
	damaged := ParseState(map[string][]byte{KeyPath: []byte("short"), KeyAuthorities: []byte("?"), KeyServedCert: []byte("?"), KeyBundles: []byte("{")})
	if damaged.PathKey != nil || damaged.Authorities != nil || damaged.Served != nil || damaged.Bundles != nil {
		t.Errorf("read from rubbish: %+v", damaged)
	}
}

func TestSegment(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	// echo -n "a/u" | openssl dgst -sha256 -hmac "0123456789abcdef0123456789abcdef"
	if got, want := Segment(key, "a", "u", 0), "7824d59b85b6283262831de5170e6653"; got != want {
		t.Errorf("segment %s, want %s", got, want)
	}
	others := map[string]bool{Segment(key, "a", "u", 0): true}
	for _, other := range []string{Segment(key, "b", "u", 0), Segment(key, "a", "v", 0), Segment([]byte("another"), "a", "u", 0), Segment(key, "a", "u", 1), Segment(key, "a", "u", 2)} {
		if others[other] {
			t.Errorf("%s is that of another member", other)
		}
		others[other] = true
	}
}

func TestServingIsReadAsItWasPublished(t *testing.T) {
	for _, s := range []Serving{{}, ServingNothing, {Leaf: "ab"}, {Leaf: "ab", Authority: "cd"}} {
		if got := ParseServing(s.String()); got != s {
			t.Errorf("%+v was read as %+v", s, got)
		}
	}
}
