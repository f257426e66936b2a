//go:build unix

package localcluster

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig returns a kubeconfig for the identity of Config. It contains certificates and key, and refers to no file.
func (c *ControlPlane) Kubeconfig() []byte { return slices.Clone(c.admin) }

// UserKubeconfig returns a kubeconfig for another user with a separate client certificate. It refers to no file either. The user has no
// rights until RBAC objects grant some. The certificate is valid for 30 days.
func (c *ControlPlane) UserKubeconfig(user string, groups ...string) ([]byte, error) {
	if user == "" {
		return nil, errors.New("a kubeconfig needs the name of a user")
	}
	identity, err := c.ca.client(user, groups)
	if err != nil {
		return nil, err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[c.Name] = &clientcmdapi.Cluster{
		Server: "https://" + c.ports[0].address(), CertificateAuthorityData: c.ca.pem,
	}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{
		ClientCertificateData: identity.certificate, ClientKeyData: identity.key,
	}
	config.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: user}
	config.CurrentContext = c.Name
	content, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("write a kubeconfig for %s: %w", user, err)
	}
	return content, nil
}

func (c *ControlPlane) userConfig(user string) (*rest.Config, error) {
	kubeconfig, err := c.UserKubeconfig(user)
	if err != nil {
		return nil, err
	}
	return clientcmd.RESTConfigFromKubeConfig(kubeconfig)
}

// proxied reports whether requests to the host would use a proxy from the environment. Requests to 127.0.0.1 never do. Configurations with
// a proxy setting do not share connections, so only those have one that need it.
func proxied(host *url.URL) bool {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: host})
	return err != nil || proxy != nil
}

// connect makes the administrator's kubeconfig and clients. No program must run yet.
func (c *ControlPlane) connect() (err error) {
	if c.admin, err = c.UserKubeconfig("admin", "system:masters"); err != nil {
		return err
	}
	if c.Config, err = clientcmd.RESTConfigFromKubeConfig(c.admin); err != nil {
		return fmt.Errorf("read the own kubeconfig: %w", err)
	}
	c.Config.QPS = -1
	if host, err := url.Parse(c.Config.Host); err == nil && proxied(host) {
		c.Config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	if c.http, err = rest.HTTPClientFor(c.Config); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	return nil
}
