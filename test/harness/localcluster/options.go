//go:build unix

package localcluster

import (
	"io"
	"net/netip"
	"slices"
	"strings"
)

// Options configure the start of a control plane. The zero value is usable.
type Options struct {
	// Name is part of the kubeconfig, the certificates and the name of the temporary directory. It consists of letters, digits and dashes.
	// Empty means "cluster".
	Name string
	// Progress receives the output if kube-apiserver and etcd must be built first. Nil means standard error.
	Progress io.Writer
	// Programs is a directory with kube-apiserver and etcd. Empty means the programs that the repository pins.
	Programs string
	// Address is an IP address of this machine on which the API server listens. Its certificate contains the address too. Empty means
	// 127.0.0.1. Pods of a [Hub] can reach listeners on its HostAddress.
	Address string
	// APIServerArgs are flags for kube-apiserver as --name=value. A flag replaces the default of the same name. All values of a repeated
	// name are passed.
	APIServerArgs []string
	// EtcdArgs are flags for etcd, handled as APIServerArgs.
	EtcdArgs []string
	// Audit writes one line of JSON for each request, without bodies, to the file AuditLog.
	Audit bool
	// Keep keeps the directory with data and logs after Stop, for diagnosis.
	Keep bool

	// node is the network of the hub's node, or nil if there is no node.
	node *network
}

// address is the address on which the API server listens.
func (o Options) address() string {
	if o.Address == "" {
		return loopback
	}
	return o.Address
}

// services is the address range of Services.
func (o Options) services() string {
	if o.node == nil {
		return "10.96.0.0/16"
	}
	return o.node.services.String()
}

// serviceAddress is the first address of that range, at which pods call the API server.
func (o Options) serviceAddress() string {
	return netip.MustParsePrefix(o.services()).Masked().Addr().Next().String()
}

// mergeArgs returns extra and the defaults whose name is not in extra.
func mergeArgs(defaults, extra []string) []string {
	name := func(arg string) string {
		n, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		return n
	}
	merged := slices.DeleteFunc(slices.Clone(defaults), func(arg string) bool {
		return slices.ContainsFunc(extra, func(e string) bool { return name(e) == name(arg) })
	})
	return append(merged, extra...)
}
