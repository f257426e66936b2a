//go:build e2e

package e2e

import (
	"bytes"
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
	release   = "vmgroups"
	namespace = "vmgroup-operator-system"
	// helmPatience is Helm's own timeout of waits, passed to Helm so that its error names the awaited object.
	helmPatience = "300s"
)

// helm is the real Helm, as a hub administrator uses it.
type helm struct {
	path, kubeconfig, home string
}

func newHelm(ctx context.Context, kubeconfig, dir string) (*helm, error) {
	path, err := assets.Tool(ctx, "helm", os.Stderr)
	if err != nil {
		return nil, err
	}
	return &helm{path: path, kubeconfig: kubeconfig, home: filepath.Join(dir, "helm")}, nil
}

// run runs a command in the release's namespace and returns its output.
func (h *helm) run(ctx context.Context, args ...string) (string, error) {
	var out, problems bytes.Buffer
	command := exec.CommandContext(ctx, h.path, append(args, "--namespace="+namespace, "--kubeconfig="+h.kubeconfig)...)
	command.Env = append(os.Environ(), h.environment()...)
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("helm %s: %w\n%s%s", strings.Join(args, " "), err, problems.String(), out.String())
	}
	return out.String(), nil
}

// environment is isolated from the user who runs the test: no repositories, no plugins.
func (h *helm) environment() []string {
	return []string{"HELM_CACHE_HOME=" + h.home + "/cache", "HELM_CONFIG_HOME=" + h.home + "/config", "HELM_DATA_HOME=" + h.home + "/data"}
}

// pack creates a chart's archive, as it is published.
func (h *helm) pack(ctx context.Context, chart, version, appVersion, into string) (string, error) {
	if _, err := h.run(ctx, "package", chart, "--version="+version, "--app-version="+appVersion, "--destination="+into); err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(into, "*-"+version+".tgz"))
	if err == nil && len(found) != 1 {
		err = errors.New("helm package left no archive")
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// upgrade installs or upgrades the release to a chart and waits until it is rolled out.
func (h *helm) upgrade(ctx context.Context, archive, values string, more ...string) (string, error) {
	return h.run(ctx, append([]string{
		"upgrade", release, archive, "--install", "--create-namespace", "--values=" + values, "--wait", "--timeout=" + helmPatience,
	}, more...)...)
}
