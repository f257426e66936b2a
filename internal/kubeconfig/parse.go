// Package kubeconfig parses kubeconfigs of others, which can be hostile.
package kubeconfig

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// MaxBytes bounds a kubeconfig. A usual one has 3 to 10 KiB.
const MaxBytes = 64 << 10

// RefusedError is the reason why a kubeconfig is not used. It never holds a secret.
type RefusedError struct {
	// Field of the kubeconfig, in the file's own spelling; empty when the file as a whole is refused.
	Field string
	// Problem is the rest of the sentence, and the remedy.
	Problem string
}

// Error returns one sentence that names the field.
func (e *RefusedError) Error() string {
	if e.Field == "" {
		return "the kubeconfig " + e.Problem
	}
	return fmt.Sprintf("the kubeconfig's field %s %s", e.Field, e.Problem)
}

// Parse turns a kubeconfig into a client configuration, or returns a [*RefusedError].
//
// A kubeconfig is code: it can start programs, read the reader's files, send its traffic through a proxy or impersonate another user. So it must be
// self-contained: an https server, inline certificate data (the system's authorities if omitted), and an inline token, client certificate or
// password. The result is assembled from the very fields that were checked, with no defaults from the environment.
func Parse(content []byte) (*rest.Config, error) {
	if len(content) == 0 {
		return nil, &RefusedError{Problem: "is empty"}
	}
	if len(content) > MaxBytes {
		return nil, &RefusedError{Problem: fmt.Sprintf("has %d bytes; at most %d are read", len(content), MaxBytes)}
	}
	file, err := clientcmd.Load(content)
	if err != nil {
		// The parser's error can quote the line that caused it, which can hold a credential.
		return nil, &RefusedError{Problem: "is not valid YAML or JSON of kind Config, version v1"}
	}
	cluster, user, err := selectContext(file)
	if err != nil {
		return nil, err
	}
	if err := checkCluster(cluster); err != nil {
		return nil, err
	}
	if err := checkUser(user); err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:               cluster.Server,
		Username:           user.Username,
		Password:           user.Password,
		BearerToken:        user.Token,
		DisableCompression: cluster.DisableCompression,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: cluster.TLSServerName,
			CAData:     cluster.CertificateAuthorityData,
			CertData:   user.ClientCertificateData,
			KeyData:    user.ClientKeyData,
		},
	}, nil
}

func selectContext(file *clientcmdapi.Config) (*clientcmdapi.Cluster, *clientcmdapi.AuthInfo, error) {
	name := file.CurrentContext
	if name == "" {
		if len(file.Contexts) != 1 {
			return nil, nil, &RefusedError{Field: "current-context", Problem: fmt.Sprintf(
				"is empty and there are %d contexts; name the one to use", len(file.Contexts))}
		}
		for only := range file.Contexts {
			name = only
		}
	}
	chosen, ok := file.Contexts[name]
	if !ok || chosen == nil {
		return nil, nil, &RefusedError{Field: "current-context", Problem: "names a context that is not in the file"}
	}
	cluster, ok := file.Clusters[chosen.Cluster]
	if !ok || cluster == nil {
		return nil, nil, &RefusedError{Field: "contexts[].context.cluster", Problem: "names a cluster that is not in the file"}
	}
	user, ok := file.AuthInfos[chosen.AuthInfo]
	if !ok || user == nil {
		return nil, nil, &RefusedError{Field: "contexts[].context.user", Problem: "names a user that is not in the file"}
	}
	return cluster, user, nil
}

func checkCluster(cluster *clientcmdapi.Cluster) error {
	const prefix = "clusters[].cluster."
	switch {
	case cluster.InsecureSkipTLSVerify:
		return &RefusedError{prefix + "insecure-skip-tls-verify", "is true, which lets anybody in between read the credentials; set certificate-authority-data instead"}
	case cluster.CertificateAuthority != "":
		return &RefusedError{prefix + "certificate-authority", "is a file path; put the content into certificate-authority-data"}
	case cluster.ProxyURL != "":
		return &RefusedError{prefix + "proxy-url", "is set; the operator does not take proxies from kubeconfigs"}
	}
	server, err := url.Parse(cluster.Server)
	if err != nil || server.Host == "" || server.Hostname() == "" {
		return &RefusedError{prefix + "server", "is not a URL with a host, like https://member.example.com:6443"}
	}
	if server.Scheme != "https" {
		return &RefusedError{prefix + "server", "is not an https URL; credentials are never sent in the clear"}
	}
	if server.User != nil || server.RawQuery != "" || server.Fragment != "" {
		return &RefusedError{prefix + "server", "may hold only a host, a port and a path"}
	}
	if data := cluster.CertificateAuthorityData; len(data) > 0 && !x509.NewCertPool().AppendCertsFromPEM(data) {
		return &RefusedError{prefix + "certificate-authority-data", "holds no PEM certificate"}
	}
	return nil
}

func checkUser(user *clientcmdapi.AuthInfo) error {
	const prefix = "users[].user."
	const impersonates = "impersonates another user; give the operator's own identity the permissions"
	refuse := []struct {
		set     bool
		field   string
		problem string
	}{
		{user.Exec != nil, "exec", "starts a program; use a token or a client certificate"},
		{user.AuthProvider != nil, "auth-provider", "starts a plugin; use a token or a client certificate"},
		{user.ClientCertificate != "", "client-certificate", "is a file path; put the content into client-certificate-data"},
		{user.ClientKey != "", "client-key", "is a file path; put the content into client-key-data"},
		{user.TokenFile != "", "tokenFile", "is a file path; put the content into token"},
		{user.Impersonate != "", "as", impersonates},
		{user.ImpersonateUID != "", "as-uid", impersonates},
		{len(user.ImpersonateGroups) > 0, "as-groups", impersonates},
		{len(user.ImpersonateUserExtra) > 0, "as-user-extra", impersonates},
	}
	for _, rule := range refuse {
		if rule.set {
			return &RefusedError{prefix + rule.field, rule.problem}
		}
	}
	certificate, key := user.ClientCertificateData, user.ClientKeyData
	switch {
	case len(certificate) > 0 && len(key) == 0:
		return &RefusedError{prefix + "client-key-data", "is missing though client-certificate-data is there"}
	case len(certificate) == 0 && len(key) > 0:
		return &RefusedError{prefix + "client-certificate-data", "is missing though client-key-data is there"}
	case len(certificate) > 0:
		if _, err := tls.X509KeyPair(certificate, key); err != nil {
			return &RefusedError{prefix + "client-certificate-data", "and client-key-data are not a PEM certificate and its key"}
		}
	case user.Token == "" && user.Username == "":
		return &RefusedError{"users[].user", "holds no token, client certificate or username"}
	}
	if user.Token != "" && user.Username != "" {
		return &RefusedError{prefix + "username", "is set together with token; keep one of them"}
	}
	return nil
}
