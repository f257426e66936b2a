package serving

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
)

// Names of the files in the directory: those of a Secret of the type kubernetes.io/tls that cert-manager writes.
const (
	CertificateFile = "tls.crt"
	KeyFile         = "tls.key"
	AuthorityFile   = "ca.crt"
)

// dataLink is the link that kubelet swaps when it updates a volume. It leads to the directory with the current files.
const dataLink = "..data"

type contents struct{ certificate, key, authority []byte }

func (c contents) equal(other contents) bool {
	return bytes.Equal(c.certificate, other.certificate) && bytes.Equal(c.key, other.key) && bytes.Equal(c.authority, other.authority)
}

// errSwapped is returned if the volume was updated during the read.
var errSwapped = errors.New("the files were replaced while they were read")

// readFiles reads all files of one generation. Plain files that are overwritten one after the other can be read in between:
// the certificate then does not match the key, and the next read finds them complete.
func readFiles(dir string) (contents, error) {
	link := filepath.Join(dir, dataLink)
	target, err := os.Readlink(link)
	if err != nil {
		return readPlain(dir) // not a volume of kubelet
	}
	c, err := readPlain(filepath.Join(dir, target))
	if err != nil {
		return contents{}, err
	}
	// The old directory is deleted after the swap: a missing file was possibly there before.
	if now, err := os.Readlink(link); err != nil || now != target {
		return contents{}, errSwapped
	}
	return c, nil
}

func readPlain(dir string) (c contents, err error) {
	if c.certificate, err = os.ReadFile(filepath.Join(dir, CertificateFile)); err != nil {
		return contents{}, fmt.Errorf("read the serving certificate: %w", err)
	}
	if c.key, err = os.ReadFile(filepath.Join(dir, KeyFile)); err != nil {
		return contents{}, fmt.Errorf("read the serving certificate's key: %w", err)
	}
	c.authority, err = os.ReadFile(filepath.Join(dir, AuthorityFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // it is optional
		return contents{}, fmt.Errorf("read the serving certificate's authority: %w", err)
	}
	return c, nil
}

func (c contents) offer() (trust.Offer, error) {
	leaf, err := trust.ParseLeaf(trust.Pair{Certificate: c.certificate, Key: c.key})
	if err != nil {
		return trust.Offer{}, err
	}
	authorities := trust.ParseAuthorities(c.authority)
	leaf.FindSigners(authorities)
	return trust.Offer{Leaf: leaf, Authorities: authorities}, nil
}
