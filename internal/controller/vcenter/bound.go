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

// checkBound reports whether the password of a Secret can be sent to an endpoint. A user who can edit a VCenter names both the Secret and the server. The
// operator does not trust that user with the password, so it sends the password only to vCenters that the Secret names. The error is a *configError.
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
		"The password in Secret %q is for %s and is not sent to %s. Correct spec.server; or, if the password is for that vCenter, a user who can write the Secret confirms that: %s",
		secret.Name, strings.Join(names(allowed), ", "), untrusted.Name(hostAndPort(endpoint)), command)}
}

// hostsOf returns the hosts that a Secret names: in its annotation, or else in its key VC_HOST, as for the original operator.
func hostsOf(secret *corev1.Secret) (hosts []string, annotated bool) {
	said, annotated := secret.Annotations[v1alpha1.VCenterHostsAnnotation]
	if !annotated {
		said = valueIn(secret, "VC_HOST")
	}
	return split(said), annotated
}

// split returns the hosts in a value.
func split(said string) []string {
	hosts := strings.FieldsFunc(said, func(r rune) bool { return r == ',' || r == ' ' })
	// User information names no host. It can contain a password, which must not be shown.
	return slices.DeleteFunc(hosts, func(host string) bool { return strings.Contains(host, "@") })
}

// allows reports whether a Secret names an endpoint.
func allows(secret *corev1.Secret, endpoint *url.URL) bool {
	hosts, _ := hostsOf(secret)
	return slices.ContainsFunc(hosts, func(host string) bool { return matches(host, endpoint) })
}

// commandToAllow returns the command that names hosts in a Secret. It includes the hosts that are already allowed, because other VCenters can share the Secret.
// If a user has allowed other hosts meanwhile, the command fails, and the next message has the new command.
func commandToAllow(secret *corev1.Secret, hosts []string) string {
	unless := ""
	if _, annotated := secret.Annotations[v1alpha1.VCenterHostsAnnotation]; annotated {
		unless = fmt.Sprintf("--overwrite --resource-version=%s ", secret.ResourceVersion)
	}
	return fmt.Sprintf("kubectl -n %s annotate secret %s %s%s",
		secret.Namespace, secret.Name, unless, shellWord(v1alpha1.VCenterHostsAnnotation+"="+strings.Join(hosts, ",")))
}

// shellWord quotes a text that a shell would not take as one word, such as brackets and asterisks. Users can write any text into a VCenter, and an
// administrator runs the resulting command.
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

// defaultPorts are the default ports of the supported schemes.
var defaultPorts = map[string]string{"https": "443", "http": "80"}

// matches reports whether a host in a Secret is an endpoint's host. VC_HOST can be a URL, like spec.server. Without a scheme and a port in the Secret, it means
// https, so that the password is not sent unencrypted.
func matches(host string, endpoint *url.URL) bool {
	scheme := "https"
	if said, rest, found := strings.Cut(host, "://"); found {
		scheme, host = said, rest
	}
	host, _, _ = strings.Cut(host, "/")
	host, anyPort := strings.CutSuffix(host, ":*")
	// The same parser reads a Secret's host and the endpoint, so that a spelling means the same host in both.
	named, err := url.Parse(scheme + "://" + host)
	if err != nil || named.User != nil || named.Hostname() == "" || !strings.EqualFold(bare(named), bare(endpoint)) {
		return false
	}
	return anyPort || port(named) == port(endpoint) && (named.Port() != "" || named.Scheme == endpoint.Scheme)
}

// bare returns the host of a URL without its port. It ignores a dot at the end.
func bare(u *url.URL) string { return strings.TrimSuffix(u.Hostname(), ".") }

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return defaultPorts[u.Scheme]
}

// hostAndPort returns the endpoint's form for a Secret. An IPv6 address is in brackets, and only the default port of https is omitted, so that the form is
// unambiguous.
func hostAndPort(u *url.URL) string {
	named := net.JoinHostPort(u.Hostname(), port(u))
	if u.Scheme == "https" {
		return strings.TrimSuffix(named, ":"+defaultPorts["https"])
	}
	return named
}

// loopback reports whether requests to a URL stay on this host.
func loopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return ip.IsLoopback() || strings.EqualFold(u.Hostname(), "localhost")
}
