package operator

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// certificateAuthorities is the default file of trusted certificate authorities in Go and most other programs. To use other certificate
// authorities, users mount a file over it.
const certificateAuthorities = "/etc/ssl/certs/ca-certificates.crt"

// rootsModule contains the certificate authorities that Mozilla trusts.
const rootsModule = "golang.org/x/crypto/x509roots/fallback"

// roots returns the certificate authorities in PEM form. They come from a Go module and not from this machine, so that the image is the
// same on every machine. It omits those that Mozilla trusts only for certificates before a date: a PEM file cannot express the date, and
// such certificates expire soon.
func roots() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return out.Bytes()
}
