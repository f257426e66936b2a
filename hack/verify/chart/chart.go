// Package chart checks the Helm chart without a cluster. It uses Helm and its unit tests. It renders manifests for every file of values in
// folder ci/. It checks these with the schemas of Kubernetes and of all kinds that the chart uses, with kube-score, and with Kubernetes' Pod
// Security checks. Another check compares the copies of files below config/, the schema of the values and the README, because
// `make manifests` writes them.
package chart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

const (
	// folder of the chart in the repository.
	folder = "charts/vmgroup-operator"
	// release and namespace of the manifests. config/ has the same namespace, so that the two can be compared.
	release, namespace = "vmgroups", "vmgroup-operator-system"
)

// Lint runs `helm lint --strict` with every file of values. root is the root of the repository.
func Lint(ctx context.Context, root string, _ []string) error {
	return eachSet(root, func(set string) error {
		return run(ctx, "helm", "lint", "--strict", "--quiet", "--namespace", namespace, "--values", set, filepath.Join(root, folder))
	})
}

// UnitTests runs the chart's own tests, and checks that they set every value.
func UnitTests(ctx context.Context, root string, _ []string) error {
	chart := filepath.Join(root, folder)
	return errors.Join(run(ctx, "helm-unittest", chart), untested(chart))
}

// eachSet calls f with each file of values in ci/.
func eachSet(root string, f func(set string) error) error {
	sets, err := filepath.Glob(filepath.Join(root, folder, "ci", "*-values.yaml"))
	if err != nil {
		return err
	}
	const least = 8
	if len(sets) < least {
		return fmt.Errorf("  %s/ci has %d files of values, want at least %d", folder, len(sets), least)
	}
	var problems []error
	for _, set := range sets {
		if err := f(set); err != nil {
			problems = append(problems, fmt.Errorf("  %s: %w", nameOf(set), err))
		}
	}
	return errors.Join(problems...)
}

// nameOf returns the name of a set of values: "node-port" for ci/node-port-values.yaml.
func nameOf(set string) string { return strings.TrimSuffix(filepath.Base(set), "-values.yaml") }

// run runs a tool. Its error contains the output.
func run(ctx context.Context, tool string, args ...string) error {
	command, err := command(ctx, tool, args...)
	if err != nil {
		return err
	}
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", tool, err, out)
	}
	return nil
}

// command prepares a tool of the repository. The tool reads no configuration of the user.
func command(ctx context.Context, tool string, args ...string) (*exec.Cmd, error) {
	path, err := assets.Tool(ctx, tool, os.Stderr)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, path, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull)
	for _, folder := range []string{"HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"} {
		command.Env = append(command.Env, folder+"="+filepath.Join(os.TempDir(), "vmgroup-verify-no-helm"))
	}
	return command, nil
}
