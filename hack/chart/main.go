// Command chart writes the files of the Helm chart that repeat files below config/. These are the CRDs, the operator's RBAC, and the hub's
// webhooks. In the schema of the chart's values, it writes the specs of kinds that the chart creates. It also copies values.yaml to a file
// that templates can read. First it writes the versions into the generated CRDs. `make manifests` runs it, so that `make verify` detects an
// outdated chart.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := assets.Root()
	if err != nil {
		return err
	}
	chart := filepath.Join(root, "charts", "vmgroup-operator")
	bases := filepath.Join(root, "config", "crd", "bases")
	if err := stampBases(bases, crd.Hub()); err != nil {
		return err
	}
	for _, c := range copies {
		if err := c.do(filepath.Join(root, "config"), chart); err != nil {
			return err
		}
	}
	if err := keepCRDs(filepath.Join(chart, "crds")); err != nil {
		return err
	}
	if err := copyDefaults(chart); err != nil {
		return err
	}
	return writeSchema(bases, filepath.Join(chart, "values.schema.json"))
}

// copyDefaults copies the values to a file that templates can read. Helm does not let templates read values.yaml.
func copyDefaults(chart string) error {
	content, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	return os.WriteFile(filepath.Join(chart, "files", "defaults.yaml"), content, 0o644) //nolint:wrapcheck // the same
}
