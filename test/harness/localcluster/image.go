//go:build unix

package localcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
)

// pauseImage holds the namespaces of every Pod.
const pauseImage = "docker.io/local/pause:1"

// LoadImage makes the image of an archive, as `docker save` writes it, known to the node. Pods use it under the name in the
// archive, with imagePullPolicy Never or IfNotPresent. The file is needed again after LoseRuntimeState.
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
	// Through a pipe: the file may be where the node does not see it.
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
