package objects

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"slices"
)

// BundleHash identifies the certificate authorities in a PEM bundle: lower-case hexadecimal SHA-256 over the hashes of its
// certificates. Order, repetition and comments do not change it. It is "" if the bundle has no certificate.
func BundleHash(bundle []byte) string {
	var hashes [][sha256.Size]byte
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			continue
		}
		hashes = append(hashes, sha256.Sum256(block.Bytes))
	}
	if len(hashes) == 0 {
		return ""
	}
	slices.SortFunc(hashes, func(a, b [sha256.Size]byte) int { return slices.Compare(a[:], b[:]) })
	whole := sha256.New()
	for _, hash := range slices.Compact(hashes) {
		whole.Write(hash[:])
	}
	return hex.EncodeToString(whole.Sum(nil))
}
