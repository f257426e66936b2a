// Package assets gets the programs that tests, the demo and the Makefile need: kube-apiserver and etcd, and the
// tools pinned in tools/*/go.mod. Each of those modules holds its `tool` directive and its own requirements, so
// none of them touches the product's go.mod. Programs that belong together, as those of a node, are several
// directives of one module: one build makes them all.
//
// Nothing has to be installed by hand and no network but a Go module proxy is needed: whatever cannot be
// downloaded ready-made is built from modules, once per machine, and kept in a cache directory:
//
//	$VMGROUP_CACHE, or vmgroup-operator below os.UserCacheDir()
//	├── tools/<name>-<hash>/<program>  built here; the hash covers go.mod, go.sum, Go version, platform and flags
//	├── tools/envtest-<series>-<os>-<arch>/   downloaded
//	├── images/                        of containers, made from these programs for local clusters
//	├── assets/<hash>/                 links to one kube-apiserver and one etcd
//	└── locks/                         so that parallel processes build once
//
// Environment: KUBEBUILDER_ASSETS names a directory with kube-apiserver and etcd, which is then used as it is;
// VMGROUP_CACHE moves the cache; VMGROUP_NO_DOWNLOAD=1 always builds.
package assets
