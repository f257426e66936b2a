package operator

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// certificateAuthorities is the file where Go and most other programs look for the certificate authorities that
// they trust. Whoever needs others mounts a file over it.
const certificateAuthorities = "/etc/ssl/certs/ca-certificates.crt"

// rootsModule is where they come from: the certificate authorities that Mozilla trusts.
const rootsModule = "golang.org/x/crypto/x509roots/fallback"

// roots returns the certificate authorities in PEM form. They come from a Go module and not from this machine, so
// that the image is the same wherever it is made. Those that Mozilla trusts only for certificates from before a
// date are left out: a PEM file cannot say that, and such certificates run out soon.
func roots() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return out.Bytes()
}
