package serving

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
)

// stateOf is the Secret's data with a chosen leaf.
func stateOf(p pki) map[string][]byte {
	return map[string][]byte{trust.KeyServedCert: p.certificate, trust.KeyServedKey: p.key, trust.KeyAuthorities: p.authority}
}

func fingerprint(t *testing.T, p pki) string {
	t.Helper()
	leaf, err := trust.ParseLeaf(trust.Pair{Certificate: p.certificate, Key: p.key})
	if err != nil {
		t.Fatal(err)
	}
	return leaf.Fingerprint
}

// clock is a time that a test sets.
type clock struct{ now time.Time }

func keeperOn(dir string, c *clock) *Keeper {
	return New(Options{Dir: dir, Poll: time.Hour, Now: func() time.Time { return c.now }, Log: logr.Discard()})
}

// serves fails unless handshakes get that certificate; "" is none.
func serves(t *testing.T, k *Keeper, want string) {
	t.Helper()
	certificate, err := k.GetCertificate(nil)
	published := trust.ParseServing(k.Published())
	if want == "" {
		if err == nil || k.Check(nil) == nil || published != trust.ServingNothing {
			t.Fatalf("something is served: %v, %v, published %v", certificate, err, published)
		}
		return
	}
	if err != nil || k.Check(nil) != nil {
		t.Fatalf("nothing is served: %v, %v", err, k.Check(nil))
	}
	leaf := trust.Serving{Leaf: want[:32]}
	if published.Leaf != leaf.Leaf {
		t.Fatalf("published %v, want %v", published, leaf)
	}
	if k.serving().Fingerprint != want || k.serving().TLS != certificate {
		t.Fatalf("%s is served, want %s", k.serving().Fingerprint, want)
	}
}

func TestKeeperServesWhatTheLeaderChose(t *testing.T) {
	dir, c := t.TempDir(), &clock{time.Now()}
	old, fresh := issue(t), issue(t)
	fresh.write(t, dir)
	k := keeperOn(dir, c)
	serves(t, k, "") // members possibly do not trust the files' certificate: the leader's choice comes first
	k.SetState(stateOf(old))
	serves(t, k, fingerprint(t, old))
	if authority := trust.ParseServing(k.Published()).Authority; authority == "" || !strings.HasPrefix(trust.ParseAuthorities(old.authority)[0].Hash, authority) {
		t.Errorf("the authority is published as %q", authority)
	}
	k.SetState(nil) // a user deleted the Secret
	serves(t, k, fingerprint(t, old))
	k.SetState(map[string][]byte{trust.KeyServedCert: []byte("damaged"), trust.KeyServedKey: old.key})
	serves(t, k, fingerprint(t, old))
	k.SetState(stateOf(fresh))
	serves(t, k, fingerprint(t, fresh))
}

func TestKeeperServesItsFilesWhenNothingWasEverChosen(t *testing.T) {
	dir, c := t.TempDir(), &clock{time.Now()}
	k := keeperOn(dir, c)
	k.SetState(nil)
	serves(t, k, "")
	first := issue(t)
	first.write(t, dir)
	if !k.look() {
		t.Fatal("the first files were not noticed")
	}
	serves(t, k, fingerprint(t, first))
	if got := len(k.Offer().Authorities); got != 1 || len(k.Offer().Leaf.Signers) != 1 {
		t.Errorf("the offer has %d authorities, signed by %v", got, k.Offer().Leaf.Signers)
	}
	second := issue(t)
	second.write(t, dir)
	if !k.look() || k.look() {
		t.Error("a swap is noticed once")
	}
	serves(t, k, fingerprint(t, second))
}

func TestKeeperServesItsFilesWhenTheChosenOneHasExpired(t *testing.T) {
	dir, c := t.TempDir(), &clock{time.Now()}
	chosen, file := issue(t), issue(t)
	k := keeperOn(dir, c)
	k.SetState(stateOf(chosen))
	c.now = c.now.Add(2 * time.Hour)
	serves(t, k, fingerprint(t, chosen)) // expired, but there is no other
	file.write(t, dir)
	k.look()
	serves(t, k, fingerprint(t, chosen)) // no better
	c.now = c.now.Add(-90 * time.Minute)
	serves(t, k, fingerprint(t, chosen))
	// One that lasts longer.
	longer := k.Offer()
	leaf := *longer.Leaf
	leaf.NotAfter = c.now.Add(24 * time.Hour)
	k.offer.Leaf = &leaf
	c.now = c.now.Add(2 * time.Hour)
	serves(t, k, fingerprint(t, file))
}

func TestFilesThatDoNotFitAreNotTaken(t *testing.T) {
	dir, c := t.TempDir(), &clock{time.Now()}
	whole, half := issue(t), issue(t)
	put := func(name string, content []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(CertificateFile, whole.certificate)
	put(KeyFile, whole.key)
	k := keeperOn(dir, c)
	k.SetState(nil)
	serves(t, k, fingerprint(t, whole))
	put(CertificateFile, half.certificate) // plain files are written over one after the other
	if k.look() {
		t.Error("a certificate without its key was taken")
	}
	serves(t, k, fingerprint(t, whole))
	put(KeyFile, half.key)
	if !k.look() {
		t.Error("the pair was not noticed")
	}
	serves(t, k, fingerprint(t, half))
	if err := os.Remove(filepath.Join(dir, CertificateFile)); err != nil {
		t.Fatal(err)
	}
	if k.look() {
		t.Error("missing files were taken for a change")
	}
	serves(t, k, fingerprint(t, half))
}

// TestAVolumeIsReadInOneGeneration reads while kubelet updates the volume again and again.
func TestAVolumeIsReadInOneGeneration(t *testing.T) {
	dir := t.TempDir()
	generation := func(mark string) pki {
		return pki{authority: []byte(mark), certificate: []byte(mark), key: []byte(mark)}
	}
	generation("0").write(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	var kubelet sync.WaitGroup
	kubelet.Go(func() {
		for i := 1; ctx.Err() == nil; i++ {
			generation(string(rune('0'+i%10))).write(t, dir)
		}
	})
	read, seen := 0, map[string]bool{}
	for read < 2000 || len(seen) < 5 {
		c, err := readFiles(dir)
		if err != nil {
			continue // swapped meanwhile; the next read finds it
		}
		read++
		seen[string(c.key)] = true
		if !bytes.Equal(c.certificate, c.key) || !bytes.Equal(c.key, c.authority) {
			t.Errorf("read certificate %q, key %q and authority %q", c.certificate, c.key, c.authority)
			break
		}
	}
	cancel()
	kubelet.Wait()
}
