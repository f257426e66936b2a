// Package oci makes container images from compiled programs, without Docker, a registry or a base
// image. Tests use it for every image that their pods run.
//
//	bundle, err := oci.New("pause:e2e", oci.Image{Programs: []oci.Program{{Source: "bin/pause", Path: "/pause"}}})
//	err = bundle.WriteArchive("pause.tar") // ctr -n k8s.io images import pause.tar
//
// The same input gives the same bytes, and so the same digest, on every machine. Entries are sorted, are owned by
// root, and have fixed modes and a time in 1970. The compressor is part of the Go version that runs this.
package oci
