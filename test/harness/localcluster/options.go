//go:build unix

package localcluster

import (
	"io"
	"net/netip"
	"slices"
	"strings"
)

// Options say how a control plane shall be started. The zero value is a usable one.
type Options struct {
	// Name is used in the kubeconfig, in certificates and in the name of the temporary directory; letters,
	// digits and dashes. Empty means "cluster".
	Name string
	// Progress is told when kube-apiserver and etcd have to be built first; nil means standard error.
	Progress io.Writer
	// Programs is a directory with the programs kube-apiserver and etcd to run; empty means those that the repository pins.
	Programs string
	// Address is an IP address of this machine for the API server to listen on, which is also in its certificate; empty
	// means 127.0.0.1. Pods of a [Hub] reach what listens on its HostAddress.
	Address string
	// APIServerArgs are flags for kube-apiserver as --name=value. One replaces the default of the same name; with
	// a repeated name all values are passed.
	APIServerArgs []string
	// EtcdArgs are flags for etcd, handled like APIServerArgs.
	EtcdArgs []string
	// Audit writes one line of JSON for each request, without bodies, to the file AuditLog.
	Audit bool
	// Keep leaves the directory with data and logs in place after Stop, for a look at what happened.
	Keep bool

	// node says that there will be one, in the network of a hub.
	node *network
}

// address is where the API server listens.
func (o Options) address() string {
	if o.Address == "" {
		return loopback
	}
	return o.Address
}

// services is the range of addresses that Services get.
func (o Options) services() string {
	if o.node == nil {
		return "10.96.0.0/16"
	}
	return o.node.services.String()
}

// serviceAddress is the first of that range, under which pods call the API server.
func (o Options) serviceAddress() string {
	return netip.MustParsePrefix(o.services()).Masked().Addr().Next().String()
}

// mergeArgs returns defaults without those whose name is in extra, and extra.
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
