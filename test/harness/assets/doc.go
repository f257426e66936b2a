// Package assets gets the programs that tests, the demo and the Makefile need: kube-apiserver and etcd, and the
// tools pinned in tools/*/go.mod. Each of those modules has its own `tool` directive and requirements, so
// none of them changes the product's go.mod. A module can have several directives for related programs, such as those
// of a node. Then one build makes them all.
//
// Users need to install nothing, and the only required network access is a Go module proxy. Programs that cannot be
// downloaded are built from modules, once per machine, and kept in a cache directory:
//
//	$VMGROUP_CACHE, or vmgroup-operator below os.UserCacheDir()
//	├── tools/<name>-<hash>/<program>  built here; the hash covers go.mod, go.sum, Go version, platform and flags
//	├── tools/envtest-<series>-<os>-<arch>/   downloaded
//	├── images/                        of containers, made from these programs for local clusters
//	├── assets/<hash>/                 links to one kube-apiserver and one etcd
//	└── locks/                         so that parallel processes build once
//
// Environment: KUBEBUILDER_ASSETS names a directory with kube-apiserver and etcd, which is used unchanged.
// VMGROUP_CACHE moves the cache. VMGROUP_NO_DOWNLOAD=1 always builds.
package assets
