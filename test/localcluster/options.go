//go:build unix

package localcluster

import (
	"io"
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
	// APIServerArgs are flags for kube-apiserver as --name=value. One replaces the default of the same name; with
	// a repeated name all values are passed.
	APIServerArgs []string
	// EtcdArgs are flags for etcd, handled like APIServerArgs.
	EtcdArgs []string
	// Audit writes one line of JSON for each request, without bodies, to the file AuditLog.
	Audit bool
	// Keep leaves the directory with data and logs in place after Stop, for a look at what happened.
	Keep bool
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
