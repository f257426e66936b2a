package cluster

import (
	"bytes"
	"crypto/x509"
	"net"
	"net/url"
	"os"
)

// Address is how the hub reaches an API server.
type Address struct {
	// Server is its URL.
	Server string `json:"server"`
	// CertificateAuthority has PEM certificates. The hub uses its own authorities if it is empty.
	CertificateAuthority []byte `json:"certificateAuthority,omitempty"`
	// TLSServerName replaces the host name in the check of the certificate.
	TLSServerName string `json:"tlsServerName,omitempty"`
}

// Equal reports whether both are the same way to the same server.
func (a Address) Equal(b Address) bool {
	return a.Server == b.Server && a.TLSServerName == b.TLSServerName && bytes.Equal(a.CertificateAuthority, b.CertificateAuthority)
}

// Check returns a failure if the operator would refuse the address. A loopback address must be explicit, because it means another machine on
// the hub.
func (a Address) Check(explicit bool) error {
	u, err := url.Parse(a.Server)
	switch {
	case err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return Usage("The server %q of the member is not of the form https://HOST[:PORT]. Set --server to the URL by which the hub reaches the member.", a.Server)
	case !explicit && loopback(u.Hostname()):
		return Usage("The server %s of the member is an address of this computer, which the hub cannot reach. Set --server to the URL by which the hub reaches the member.", a.Server)
	case len(a.CertificateAuthority) > 0 && !x509.NewCertPool().AppendCertsFromPEM(a.CertificateAuthority):
		return Usage("The certificate authority of the member has no PEM certificate. Set --certificate-authority-file to a file with the certificates.")
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// Address returns the address in a context. file replaces its certificate authority, and server its URL, if they are not empty.
func (c *Contexts) Address(name, server, file string) (Address, error) {
	chosen, ok := c.file.Contexts[name]
	if !ok || c.file.Clusters[chosen.Cluster] == nil {
		return Address{}, Usage("The kubeconfig has no context %q with a cluster. kubectl config get-contexts lists them.", name)
	}
	of := c.file.Clusters[chosen.Cluster]
	a := Address{Server: of.Server, CertificateAuthority: of.CertificateAuthorityData, TLSServerName: of.TLSServerName}
	if file == "" && len(a.CertificateAuthority) == 0 {
		file = of.CertificateAuthority
	}
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return Address{}, Usage("The certificate authority cannot be read: %v", err)
		}
		a.CertificateAuthority = content
	}
	if of.InsecureSkipTLSVerify && len(a.CertificateAuthority) == 0 {
		return Address{}, Usage("Context %q does not verify the certificate of %s, and the operator always does. Set --certificate-authority-file to a file with the authority that signed it.", name, of.Server)
	}
	if server != "" {
		a.Server = server
	}
	return a, a.Check(server != "")
}
