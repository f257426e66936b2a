package cluster

import (
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/codeconnect/vmgroup-operator/internal/kubeconfig"
)

// Contexts are those of the user's kubeconfig.
type Contexts struct {
	file   clientcmdapi.Config
	access clientcmd.ConfigAccess
	// overrides are the flags that hold for each context: impersonation and the request timeout.
	overrides clientcmd.ConfigOverrides
	// warnings gets those of API servers. If it is nil, they are not shown.
	warnings rest.WarningHandlerWithContext
	// command is the context of the command, which ends at Ctrl-C.
	command context.Context
}

// Load reads the kubeconfig of the flags. The context is that of the command.
func Load(ctx context.Context, flags *genericclioptions.ConfigFlags) (*Contexts, error) {
	loader := flags.ToRawKubeConfigLoader()
	file, err := loader.RawConfig()
	if err != nil {
		return nil, Usage("The kubeconfig cannot be read: %v", err)
	}
	c := &Contexts{file: file, access: loader.ConfigAccess(), command: ctx}
	if name := *flags.Context; name != "" {
		c.file.CurrentContext = name
	}
	c.overrides.Timeout = *flags.Timeout
	c.overrides.AuthInfo = clientcmdapi.AuthInfo{
		Impersonate: *flags.Impersonate, ImpersonateUID: *flags.ImpersonateUID, ImpersonateGroups: *flags.ImpersonateGroup,
	}
	return c, nil
}

// NoCurrent returns the failure of a command that needs a context. flag chooses one, of the hub or of a member.
func (c *Contexts) NoCurrent(flag, whose string) error {
	if len(c.file.Contexts) == 0 {
		return Usage("No kubeconfig with a context was found in %s. Set --kubeconfig or $KUBECONFIG.", strings.Join(c.access.GetLoadingPrecedence(), ", "))
	}
	return Usage("The kubeconfig has no current context. Set %s to the context of the %s.", flag, whose)
}

// Current is the name of the context of --context, or else of the current one. It is empty if there is none.
func (c *Contexts) Current() string { return c.file.CurrentContext }

// Names of all contexts, in order.
func (c *Contexts) Names() []string { return slices.Sorted(maps.Keys(c.file.Contexts)) }

// Config returns the client configuration of a context.
func (c *Contexts) Config(name string) (*rest.Config, error) {
	if _, ok := c.file.Contexts[name]; !ok {
		return nil, Usage("The kubeconfig has no context %q. kubectl config get-contexts lists them.", name)
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(c.file, name, &c.overrides, c.access).ClientConfig()
	if err != nil {
		return nil, Usage("Context %q of the kubeconfig cannot be used: %v", name, err)
	}
	return config, nil
}

// Namespace returns the namespace of a context.
func (c *Contexts) Namespace(name string) string {
	if chosen, ok := c.file.Contexts[name]; ok && chosen.Namespace != "" {
		return chosen.Namespace
	}
	return metav1.NamespaceDefault
}

// Warn writes the warnings of API servers and their webhooks from now on, a line each.
func (c *Contexts) Warn(out io.Writer) { c.warnings = &warnings{out: out} }

// Collect keeps the warnings of API servers and their webhooks from now on, instead of writing them.
func (c *Contexts) Collect() *Collected {
	collected := &Collected{}
	c.warnings = collected
	return collected
}

// Add adds the cluster of a kubeconfig that another person or program has stored, as a context. Unlike the user's own kubeconfig, it cannot start
// programs or read files.
func (c *Contexts) Add(name string, content []byte) error {
	config, err := kubeconfig.Parse(content)
	if err != nil {
		return Usage("%s: %v.", name, err)
	}
	c.file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	c.file.Clusters[name] = &clientcmdapi.Cluster{
		Server: config.Host, CertificateAuthorityData: config.CAData, TLSServerName: config.ServerName, DisableCompression: config.DisableCompression,
	}
	c.file.AuthInfos[name] = &clientcmdapi.AuthInfo{
		Token: config.BearerToken, Username: config.Username, Password: config.Password, ClientCertificateData: config.CertData, ClientKeyData: config.KeyData,
	}
	return nil
}

// Open returns the cluster of a context. It connects to nothing.
func (c *Contexts) Open(name string) (*Cluster, error) {
	config, err := c.Config(name)
	if err != nil {
		return nil, err
	}
	config.WarningHandlerWithContext = c.warnings
	if config.Timeout == 0 {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &timeoutTransport{next, c.command} })
	}
	return New(name, config)
}
