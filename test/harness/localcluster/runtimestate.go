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

// Loss is the extent of [Hub.LoseRuntimeState].
type Loss int

const (
	// LoseState removes containerd's state directory, with the list of running containers. Kubelet then reports the containers as
	// terminated, with reason Unknown and exit code 255.
	LoseState Loss = iota
	// LoseRootAndState also removes its root directory, which includes images. Kubelet then starts other containers in the same Pods.
	LoseRootAndState
)

// LoseRuntimeState makes containerd forget its containers while their processes continue, as after a lost or wiped disk. It kills
// containerd, removes directories, starts containerd again and loads the images again. If the images were lost, it restarts kubelet as
// well. That takes 3 s for each container with unknown processes, so if only the state is lost, kubelet continues. The forgotten
// containers, with their shims, live until the hub is stopped. Only the test can end them.
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

// forget removes a directory of the node. It first unmounts everything below, because it would delete those files too. Containers keep
// their own mounts.
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

// mountsBelow lists the mounts below a directory, last first.
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
