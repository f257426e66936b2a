//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

const (
	// thisVersion and nextVersion of chart and image. The README's commands build 0.2.0, an image that the node pulls:
	// kubelet requires a pull if a Pod uses the same image under another name.
	thisVersion, nextVersion = "0.2.1", "0.3.0"
	// newField of VmGroup's spec exists in the next version only.
	newField = "note"
)

// overlay is the next version of the product: the tree with one more field in VmGroup's spec, which the current version
// does not know. It replaces files for the compiler only.
type overlay struct {
	root, dir string
	replaced  map[string]string
}

func newOverlay(root, dir string) (*overlay, error) {
	o := &overlay{root: root, dir: dir, replaced: map[string]string{}}
	types := filepath.Join("api", "v1alpha1", "vmgroup_types.go")
	return o, errors.Join(
		o.replace(types, regexp.MustCompile(`(?m)^type VmGroupSpec struct \{$`), "$0\n\tNote string `json:\"note,omitempty\"`"),
		o.replace(filepath.Join("config", "crd", "embed.go"), regexp.MustCompile(`(?m)^	Version = \d+$`), "	Version = "+strconv.Itoa(crd.Version+1)),
		o.crd(),
	)
}

func (o *overlay) replace(file string, match *regexp.Regexp, with string) error {
	content, err := os.ReadFile(filepath.Join(o.root, file))
	if err != nil {
		return err
	}
	changed := match.ReplaceAll(content, []byte(regexp.MustCompile(`\$0`).ReplaceAllString(with, "${0}")))
	if bytes.Equal(changed, content) {
		return fmt.Errorf("%s has no %s any more", file, match)
	}
	return o.write(file, changed)
}

func (o *overlay) write(file string, content []byte) error {
	changed := filepath.Join(o.dir, "overlay", file)
	o.replaced[filepath.Join(o.root, file)] = changed
	if err := os.MkdirAll(filepath.Dir(changed), 0o755); err != nil {
		return err
	}
	return os.WriteFile(changed, content, 0o600)
}

const vmGroupCRD = "vm.codeconnect.vmworld.com_vmgroups.yaml"

func (o *overlay) crd() error {
	file := filepath.Join("config", "crd", "bases", vmGroupCRD)
	content, err := os.ReadFile(filepath.Join(o.root, file))
	if err != nil {
		return err
	}
	if content, err = withField(content); err != nil {
		return err
	}
	return o.write(file, content)
}

// withField adds the field to each version of a VmGroup CRD, and raises its stamped version.
func withField(content []byte) ([]byte, error) {
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(content, &definition.Object); err != nil {
		return nil, err
	}
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		return nil, err
	}
	for _, version := range versions {
		err = errors.Join(err, unstructured.SetNestedField(version.(map[string]any), map[string]any{"type": "string"},
			"schema", "openAPIV3Schema", "properties", "spec", "properties", newField))
	}
	err = errors.Join(err, unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"))
	if marks := definition.GetAnnotations(); marks[crd.VersionAnnotation] != "" {
		marks[crd.VersionAnnotation] = strconv.Itoa(crd.Version + 1)
		delete(marks, crd.HashAnnotation)
		definition.SetAnnotations(marks)
	}
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(definition.Object)
}

// file that the compiler reads.
func (o *overlay) file() (string, error) {
	content, err := json.Marshal(map[string]any{"Replace": o.replaced})
	if err != nil {
		return "", err
	}
	path := filepath.Join(o.dir, "overlay.json")
	return path, os.WriteFile(path, content, 0o600)
}

// chart copies the chart of the tree and replaces its CRDs with those of the next version.
func (o *overlay) chart(ctx context.Context) (string, error) {
	into := filepath.Join(o.dir, "next-chart")
	if out, err := exec.CommandContext(ctx, "cp", "-r", filepath.Join(o.root, "charts", "vmgroup-operator"), into).CombinedOutput(); err != nil {
		return "", fmt.Errorf("copy the chart: %w: %s", err, out)
	}
	file := filepath.Join(into, "crds", vmGroupCRD)
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if content, err = withField(content); err != nil {
		return "", err
	}
	return into, os.WriteFile(file, content, 0o644)
}

// buildProgram compiles a program of cmd as `make image` does. overlayFile can be empty.
func buildProgram(ctx context.Context, root, program, version, overlayFile, into string) error {
	args := append([]string{"build"}, progress.Flags()...)
	args = append(args, "-ldflags=-s -w -X main.version="+version, "-o", into)
	if overlayFile != "" {
		args = append(args, "-overlay="+overlayFile)
	}
	command := exec.CommandContext(ctx, "go", append(args, "./cmd/"+program)...)
	command.Dir, command.Env = root, progress.Environ(false)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build version %s of %s: %w\n%s", version, program, err, out)
	}
	return nil
}
