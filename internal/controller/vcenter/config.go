package vcenter

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/logins"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
)

// Config is the input of a connection, from a VCenter and its Secret.
type Config struct {
	// Name of the VCenter object.
	Name string
	// URL of the SDK endpoint, without user information.
	URL string
	// Secret is the name of the Secret with the login.
	Secret string
	// Username and Password to log in with.
	Username, Password string
	// Attempt makes the same user name and password count as new ones: see logins.AttemptKey.
	Attempt string
	// CABundle is PEM. Thumbprint and Insecure are as in v1alpha1.TLSConfig.
	CABundle   string
	Thumbprint string
	Insecure   bool
	// Datacenter, Folder and the defaults for groups, by name or path.
	Datacenter, Folder               string
	ResourcePool, Datastore, Network string
	TemplateFolders                  []string
	Poll                             bool
	PollInterval                     time.Duration
	Tasks, TasksPerHost              int
	// Predecessor is the installation whose VMs this installation adopts here, or "".
	Predecessor string
	// ExpectedVMs is the last recorded number of VMs from before this process: see vsphere.Health.SuddenlyEmpty.
	ExpectedVMs int
	// Root is the location of the root folder from before this process, as in status. It is nil if it is unknown or belongs to another VCenter.
	Root *v1alpha1.VCenterRoot
}

// Session returns the configuration of the login, with the identity and the name of the program.
func (c *Config) Session(userAgent string, gate *logins.Gate, identity session.Identity) session.Config {
	return session.Config{
		URL: c.URL, Username: c.Username, Password: c.Password,
		TLS:       session.TLS{CABundle: []byte(c.CABundle), Thumbprint: c.Thumbprint, Insecure: c.Insecure},
		UserAgent: userAgent,
		Gate:      gate,
		Identity:  identity,
	}
}

// configError is a Secret or spec that permits no connection.
type configError struct {
	reason, message string
	// secret is the Secret that does not permit its password for the vCenter, or nil for another reason.
	secret *corev1.Secret
}

func (e *configError) Error() string { return e.message }

// ReadConfig reads the Secret of a VCenter in the operator's namespace, and combines both. Its error messages contain no secret.
func ReadConfig(ctx context.Context, hub client.Reader, namespace string, vc *v1alpha1.VCenter) (Config, error) {
	name := vc.Spec.CredentialsSecretRef.Name
	secret := &corev1.Secret{}
	err := hub.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return Config{}, &configError{reason: v1alpha1.ReasonSecretNotFound, message: fmt.Sprintf(
			"Secret %q of spec.credentialsSecretRef does not exist in namespace %q; create it", name, namespace)}
	}
	if err != nil {
		return Config{}, fmt.Errorf("read Secret %q: %w", name, err)
	}
	return newConfig(vc, secret)
}

// valueIn returns the first non-empty value of these keys of a Secret, or "".
func valueIn(secret *corev1.Secret, keys ...string) string {
	for _, key := range keys {
		// `echo | base64` leaves a trailing newline. No vCenter password ends in one.
		if v := strings.TrimRight(string(secret.Data[key]), "\r\n"); v != "" {
			return v
		}
	}
	return ""
}

// newConfig combines a VCenter with its Secret. The error is a *configError whose message contains no secret.
func newConfig(vc *v1alpha1.VCenter, secret *corev1.Secret) (Config, error) {
	username, password := valueIn(secret, "username", "VC_USER"), valueIn(secret, "password", "VC_PASS")
	if username == "" || password == "" {
		return Config{}, &configError{reason: v1alpha1.ReasonSecretInvalid, message: fmt.Sprintf(
			"Secret %q needs keys username and password (or VC_USER and VC_PASS), and none of them empty", secret.Name)}
	}
	var tls v1alpha1.TLSConfig
	if vc.Spec.TLS != nil {
		tls = *vc.Spec.TLS
	}
	server := cmp.Or(vc.Spec.Server, valueIn(secret, "VC_HOST"))
	endpoint, err := sdkURL(server, tls.InsecureSkipVerify)
	if err != nil {
		return Config{}, err
	}
	if err := checkBound(secret, endpoint); err != nil {
		return Config{}, err
	}
	c := Config{
		Name: vc.Name, URL: endpoint.String(),
		Secret: secret.Name, Username: username, Password: password, Attempt: valueIn(secret, logins.AttemptKey),
		CABundle: tls.CABundle, Thumbprint: tls.Thumbprint, Insecure: tls.InsecureSkipVerify,
		Datacenter: vc.Spec.Datacenter, Folder: cmp.Or(vc.Spec.Folder, "vm-operator"),
		ResourcePool: vc.Spec.ResourcePool, Datastore: vc.Spec.Datastore, Network: vc.Spec.Network,
		Poll:         vc.Spec.Inventory.Mode == v1alpha1.InventoryPoll,
		PollInterval: time.Duration(cmp.Or(vc.Spec.Inventory.PollSeconds, 2)) * time.Second,
		Tasks:        int(cmp.Or(vc.Spec.Limits.Tasks, 8)), TasksPerHost: int(cmp.Or(vc.Spec.Limits.TasksPerHost, 4)),
		Predecessor: vc.Annotations[v1alpha1.PredecessorAnnotation],
		ExpectedVMs: int(vc.Status.VMs),
		Root:        vc.Status.Root.DeepCopy(),
	}
	if vc.Spec.Templates != nil {
		c.TemplateFolders = vc.Spec.Templates.Folders
	}
	return c, nil
}

// sdkURL completes the address of a vCenter. A plain http address would expose the password to the network. It is only for simulators on this
// host, and only with certificate checks disabled.
func sdkURL(server string, insecure bool) (*url.URL, error) {
	invalid := func(format string, args ...any) (*url.URL, error) {
		return nil, &configError{reason: v1alpha1.ReasonInvalidConfiguration, message: "spec.server: " + fmt.Sprintf(format, args...)}
	}
	if server == "" {
		return invalid("is empty, and the Secret has no VC_HOST; set it to https://<host>")
	}
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	u, err := url.Parse(server)
	switch {
	case err != nil || u.Host == "" || strings.Contains(u.Host, ","): // a comma separates hosts in a Secret
		return invalid("is not a URL of the form https://<host>[:port]")
	case u.User != nil:
		return invalid("must not contain a user name or password; put them into the Secret")
	case u.Scheme == "http" && (!insecure || !loopback(u)):
		return invalid("must use https; http would send the password in the clear. It is for simulators on this host, with tls.insecureSkipVerify")
	case u.Scheme != "https" && u.Scheme != "http":
		return invalid("must use https, not %q", u.Scheme)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/sdk"
	}
	return u, nil
}

// hash identifies the settings whose change needs a new connection. Limits and predecessor change on the existing connection, and the expected
// number of VMs and the earlier root folder are only starting values.
func (c Config) hash() string {
	c.Tasks, c.TasksPerHost, c.Predecessor, c.ExpectedVMs, c.Root = 0, 0, "", 0, nil
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v", c))
	return hex.EncodeToString(sum[:])
}
