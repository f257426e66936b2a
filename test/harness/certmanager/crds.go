//go:build unix

package certmanager

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// crdPatience is the timeout until the API server serves the kinds.
const crdPatience = 2 * time.Minute

// crdFiles are the required files. The kinds of ACME belong to controllers that do not run here.
var crdFiles = []string{
	"cert-manager.io_certificaterequests.yaml", "cert-manager.io_certificates.yaml",
	"cert-manager.io_clusterissuers.yaml", "cert-manager.io_issuers.yaml",
}

// crdDirectory is in the module that tools/cert-manager pins. Go downloads the module if it is missing.
func crdDirectory(ctx context.Context) (string, error) {
	root, err := assets.Root()
	if err != nil {
		return "", err
	}
	var stderr bytes.Buffer
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", "github.com/cert-manager/cert-manager")
	download.Dir = filepath.Join(root, "tools", toolName)
	download.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	download.Stderr = &stderr
	out, err := download.Output()
	if err != nil {
		return "", fmt.Errorf("find cert-manager's module: %w\n%s%s", err, out, stderr.Bytes())
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", fmt.Errorf("find cert-manager's module: %w", err)
	}
	return filepath.Join(module.Dir, "deploy", "crds"), nil
}

// InstallCRDs installs the kinds of cert-manager that Start needs, and waits until the API server serves them.
func InstallCRDs(ctx context.Context, config *rest.Config) error {
	dir, err := crdDirectory(ctx)
	if err != nil {
		return err
	}
	scheme := allkinds.Scheme()
	cluster, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	for _, file := range crdFiles {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return fmt.Errorf("read cert-manager's CRDs: %w", err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(content, &crd); err != nil {
			return fmt.Errorf("read cert-manager's CRD %s: %w", file, err)
		}
		if err := cluster.Create(ctx, &crd); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("install cert-manager's CRD %s: %w", crd.Name, err)
		}
		if err := waitEstablished(ctx, cluster, crd.Name); err != nil {
			return fmt.Errorf("install cert-manager's CRD %s: %w", crd.Name, err)
		}
	}
	return nil
}

func waitEstablished(ctx context.Context, cluster client.Client, name string) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, crdPatience, true, func(ctx context.Context) (bool, error) {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := cluster.Get(ctx, client.ObjectKey{Name: name}, &crd); err != nil {
			return false, err
		}
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
}
