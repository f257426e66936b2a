//go:build unix

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Loss is what [Hub.LoseRuntimeState] takes away from containerd.
type Loss int

const (
	// LoseState removes containerd's state directory: what runs. The kubelet then reports the containers as terminated,
	// with reason Unknown and exit code 255.
	LoseState Loss = iota
	// LoseRootAndState also removes its root directory: what there is, images included. The kubelet then starts other
	// containers in the same Pods.
	LoseRootAndState
)

// LoseRuntimeState makes containerd forget its containers while their processes live on, as after a disk that was lost or
// wiped: it is killed, directories are removed, and it is started again. Images are loaded again. A kubelet that has its
// images taken away is started again as well; that takes it 3 s for each container whose processes nobody knows, so where
// only the state is lost it goes on. The forgotten containers, with their shims, live until the hub is stopped; nobody but
// the test can end them.
func (h *Hub) LoseRuntimeState(ctx context.Context, loss Loss) error {
	h.KillContainerd()
	lost := []string{containerdState}
	if loss == LoseRootAndState {
		h.KillKubelet()
		lost = append(lost, containerdRoot)
	}
	for _, dir := range lost {
		if err := h.node.forget(ctx, dir); err != nil {
			return fmt.Errorf("remove containerd's %s: %w", dir, err)
		}
	}
	if err := h.StartContainerd(ctx); err != nil {
		return err
	}
	if loss == LoseRootAndState {
		for _, archive := range h.images {
			if err := h.importImage(ctx, archive); err != nil {
				return err
			}
		}
	}
	if loss == LoseState {
		return nil
	}
	return h.StartKubelet(ctx)
}

// forget removes a directory of the node. What is mounted below is taken off before, or its files would be removed too;
// containers keep their own view of it.
func (n *node) forget(ctx context.Context, dir string) error {
	mounted, err := mountsBelow(filepath.Join("/proc", fmt.Sprint(n.space.pid()), "mountinfo"), dir)
	if err != nil {
		return err
	}
	for _, mount := range mounted {
		if out, err := n.space.command(ctx, nil, "umount", "--lazy", mount); err != nil {
			return fmt.Errorf("unmount %s: %w\n%s", mount, err, out)
		}
	}
	return os.RemoveAll(n.space.path(dir))
}

// mountsBelow lists what is mounted below a directory, the last first.
func mountsBelow(table, dir string) ([]string, error) {
	content, err := os.ReadFile(table)
	if err != nil {
		return nil, err
	}
	var result []string
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			return nil, errors.New("the table of mounts has a line without a directory: " + line)
		}
		if strings.HasPrefix(fields[4], dir+"/") {
			result = append([]string{fields[4]}, result...)
		}
	}
	return result, nil
}
