// Package oci makes container images from programs that are already built, without Docker, a registry or a base
// image. Tests use it for every image that their pods run.
//
//	bundle, err := oci.New("pause:e2e", oci.Image{Programs: []oci.Program{{Source: "bin/pause", Path: "/pause"}}})
//	err = bundle.WriteArchive("pause.tar") // ctr -n k8s.io images import pause.tar
//
// The same input gives the same bytes, and so the same digest, on every machine: entries are sorted, owned by
// root, have fixed modes, and are from 1970. The compressor is the one of the Go version that runs this.
package oci
