//go:build unix

package localcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
)

// pauseImage is the image of the container that holds the namespaces of a Pod.
const pauseImage = "docker.io/local/pause:1"

// LoadImage loads the image of an archive in the format of `docker save` into the node. Pods use the name in the archive, with
// imagePullPolicy Never or IfNotPresent. LoseRuntimeState needs the file again.
func (h *Hub) LoadImage(ctx context.Context, archive string) error {
	if err := h.importImage(ctx, archive); err != nil {
		return err
	}
	h.images = append(h.images, archive)
	return nil
}

func (h *Hub) importImage(ctx context.Context, archive string) error {
	file, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("load an image: %w", err)
	}
	defer func() { _ = file.Close() }()
	// Use a pipe, because the file can be at a path that the node does not see.
	out, err := h.node.space.command(ctx, file, h.node.ctr,
		"--address="+containerdSocket, "--namespace=k8s.io", "images", "import", "--snapshotter="+h.node.snapshotter, "-")
	if err != nil {
		return fmt.Errorf("load the image of %s: %w\n%s", filepath.Base(archive), err, out)
	}
	return nil
}

func (h *Hub) loadPause(ctx context.Context, p programs) error {
	bundle, err := oci.New(pauseImage, oci.Image{
		Programs: []oci.Program{{Source: filepath.Join(p.kubernetes, "pause"), Path: "/pause"}},
	})
	if err != nil {
		return fmt.Errorf("make the image of Pods' namespaces: %w", err)
	}
	archive := h.node.file("pause.tar")
	if err := bundle.WriteArchive(archive); err != nil {
		return fmt.Errorf("make the image of Pods' namespaces: %w", err)
	}
	return h.LoadImage(ctx, archive)
}
