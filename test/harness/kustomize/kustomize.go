// Package kustomize builds the kustomizations of the repository for tests, with the pinned kustomize.
package kustomize

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/inputs"
)

// Build returns the objects of a directory of the repository, such as config/default, in the order of kustomize's output. The caller's test
// depends on everything below config/.
func Build(ctx context.Context, directory string) ([]*unstructured.Unstructured, error) {
	root, err := assets.Root()
	if err != nil {
		return nil, err
	}
	if err := inputs.Trees(filepath.Join(root, "config")); err != nil {
		return nil, err
	}
	content, err := Render(ctx, filepath.Join(root, directory))
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read what kustomize made of %s: %w", directory, err)
		}
		objects = append(objects, object)
	}
}

// Render returns the output of `kustomize build` for a directory. The first call builds kustomize.
func Render(ctx context.Context, directory string) ([]byte, error) {
	program, err := assets.Tool(ctx, "kustomize", os.Stderr)
	if err != nil {
		return nil, err
	}
	var complaint bytes.Buffer
	command := exec.CommandContext(ctx, program, "build", directory)
	command.Stderr = &complaint
	content, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("kustomize build %s: %w: %s", directory, err, bytes.TrimSpace(complaint.Bytes()))
	}
	return content, nil
}
