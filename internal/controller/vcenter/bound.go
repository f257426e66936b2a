package vcenter

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// checkBound reports whether the password of a Secret may be sent to an endpoint. A user who can edit a VCenter names both, and is not trusted with the password: it
// is sent only to the vCenters that the Secret names. The error is a *configError.
func checkBound(secret *corev1.Secret, endpoint *url.URL) error {
	allowed, annotated := hostsOf(secret)
	if allows(secret, endpoint) {
		return nil
	}
	command := commandToAllow(secret, append(slices.Clone(allowed), hostAndPort(endpoint)))
	if len(allowed) == 0 && !annotated {
		return &configError{reason: v1alpha1.ReasonSecretWithoutHost, secret: secret, message: fmt.Sprintf(
			"Secret %q does not name the vCenter that its password is for, so the password is not sent. Name it: %s", secret.Name, command)}
	}
	return &configError{reason: v1alpha1.ReasonSecretForAnotherHost, secret: secret, message: fmt.Sprintf(
		"The password in Secret %q is for %s and is not sent to %s. Correct spec.server; or, if the password is for that vCenter, whoever may write the Secret says so: %s",
		secret.Name, strings.Join(names(allowed), ", "), untrusted.Name(hostAndPort(endpoint)), command)}
}

// hostsOf are the hosts that a Secret names: in its annotation, or else in its key VC_HOST, as the original operator had it.
func hostsOf(secret *corev1.Secret) (hosts []string, annotated bool) {
	said, annotated := secret.Annotations[v1alpha1.VCenterHostsAnnotation]
	if !annotated {
		said = valueIn(secret, "VC_HOST")
	}
	return split(said), annotated
}

// split returns the hosts in what a Secret says.
func split(said string) []string {
	hosts := strings.FieldsFunc(said, func(r rune) bool { return r == ',' || r == ' ' })
	// User information names no host, and may hold a password, which is not shown.
	return slices.DeleteFunc(hosts, func(host string) bool { return strings.Contains(host, "@") })
}

// allows reports whether a Secret names an endpoint.
func allows(secret *corev1.Secret, endpoint *url.URL) bool {
	hosts, _ := hostsOf(secret)
	return slices.ContainsFunc(hosts, func(host string) bool { return matches(host, endpoint) })
}

// commandToAllow is what names hosts in a Secret. It takes those that the Secret allows already along, since other VCenters may share the Secret. It fails
// once somebody has allowed others meanwhile, which it does not know of: then the next message has the command.
func commandToAllow(secret *corev1.Secret, hosts []string) string {
	unless := ""
	if _, annotated := secret.Annotations[v1alpha1.VCenterHostsAnnotation]; annotated {
		unless = fmt.Sprintf("--overwrite --resource-version=%s ", secret.ResourceVersion)
	}
	return fmt.Sprintf("kubectl -n %s annotate secret %s %s%s",
		secret.Namespace, secret.Name, unless, shellWord(v1alpha1.VCenterHostsAnnotation+"="+strings.Join(hosts, ",")))
}

// shellWord quotes what a shell would not take as one word: brackets and asterisks, and whatever somebody wrote into a VCenter for an administrator to run.
func shellWord(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:/,="
	if strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune(plain, r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func names(hosts []string) []string {
	if len(hosts) == 0 {
		return []string{"no vCenter"}
	}
	out := make([]string, 0, len(hosts))
	for _, host := range hosts {
		out = append(out, untrusted.Name(host))
	}
	return out
}

// defaultPorts are those of the schemes that a vCenter is reached by.
var defaultPorts = map[string]string{"https": "443", "http": "80"}

// matches reports whether a host that a Secret names is that of an endpoint. VC_HOST may be a URL, as spec.server may. Where the Secret says neither scheme nor port, it
// means https, so that nobody has the password of a vCenter sent to it in the clear.
func matches(host string, endpoint *url.URL) bool {
	scheme := "https"
	if said, rest, found := strings.Cut(host, "://"); found {
		scheme, host = said, rest
	}
	host, _, _ = strings.Cut(host, "/")
	host, anyPort := strings.CutSuffix(host, ":*")
	// A Secret's host is read as the endpoint's is: by the same parser, so that no spelling means one host here and another there.
	named, err := url.Parse(scheme + "://" + host)
	if err != nil || named.User != nil || named.Hostname() == "" || !strings.EqualFold(bare(named), bare(endpoint)) {
		return false
	}
	return anyPort || port(named) == port(endpoint) && (named.Port() != "" || named.Scheme == endpoint.Scheme)
}

// bare is the host of a URL without port. A dot at its end changes nothing.
func bare(u *url.URL) string { return strings.TrimSuffix(u.Hostname(), ".") }

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return defaultPorts[u.Scheme]
}

// hostAndPort is how a Secret names an endpoint: an IPv6 address in brackets, and without a port for https alone, so that the name says the same to whoever reads it.
func hostAndPort(u *url.URL) string {
	named := net.JoinHostPort(u.Hostname(), port(u))
	if u.Scheme == "https" {
		return strings.TrimSuffix(named, ":"+defaultPorts["https"])
	}
	return named
}

// loopback reports whether what goes to a URL stays on this host.
func loopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return ip.IsLoopback() || strings.EqualFold(u.Hostname(), "localhost")
}
