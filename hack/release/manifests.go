package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// renderManifests writes the manifests for kubectl into the release: the hub with the image by its digest, and the identities of a member.
func renderManifests(ctx context.Context, root, dir, image, digest string) error {
	// kustomize accepts bases only by relative paths, and images only in a kustomization.
	overlay, err := os.MkdirTemp(dir, ".overlay-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(overlay) }()
	base, err := filepath.Rel(overlay, filepath.Join(root, "config", "default"))
	if err != nil {
		return err
	}
	content := fmt.Sprintf("resources: [%q]\nimages: [{name: vmgroup-operator, newName: %q, digest: %q}]\n", filepath.ToSlash(base), image, digest)
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(content), 0o600); err != nil {
		return err
	}
	hub, err := kustomize(ctx, overlay)
	if err != nil {
		return err
	}
	if pinned := "image: " + image + "@" + digest; strings.Count(string(hub), "image: ") != strings.Count(string(hub), pinned) || !strings.Contains(string(hub), pinned) {
		return fmt.Errorf("config/default has an image that is not %s: pin it in hack/release", image)
	}
	member, err := kustomize(ctx, filepath.Join(root, "config", "member"))
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"install.yaml": hub, "member.yaml": member} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// kustomize renders a folder with the pinned kustomize.
func kustomize(ctx context.Context, folder string) ([]byte, error) {
	program, err := assets.Tool(ctx, "kustomize", os.Stderr)
	if err != nil {
		return nil, err
	}
	var problems bytes.Buffer
	command := exec.CommandContext(ctx, program, "build", folder)
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("kustomize build %s: %w: %s", folder, err, problems.String())
	}
	return out, nil
}
