package operator

import (
	"io/fs"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
)

// ProgramPath is the path of the operator in its image.
const ProgramPath = "/manager"

// Image describes the image of a compiled program. All versions share the layer of the files, so an upgrade loads only the program.
func Image(program, platform string, release Release) oci.Image {
	return oci.Image{
		Platform: platform, Programs: []oci.Program{{Source: program, Path: ProgramPath}}, Files: files(),
		User: oci.NonRoot, Labels: labels(release), Created: release.Created,
	}
}

// files are files that programs expect. The image has no shell and no package manager.
func files() []oci.File {
	return []oci.File{
		{Path: "/etc/passwd", Content: []byte("root:x:0:0:root:/:/sbin/nologin\n" +
			"nonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{Path: "/etc/group", Content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{Path: certificateAuthorities, Content: roots()},
		{Path: "/tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
}

// labels are labels of the OCI image specification.
func labels(release Release) map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title":       "vmgroup-operator",
		"org.opencontainers.image.description": "VmGroups: groups of virtual machines in vCenter, from many clusters",
		"org.opencontainers.image.source":      "https://" + module,
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     release.Version,
	}
	if release.Revision != "" {
		labels["org.opencontainers.image.revision"] = release.Revision
	}
	return labels
}
