// Command reference writes the pages of docs/reference from the code that they describe. `make generate` runs it, so that `make verify`
// detects an outdated page.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/codeconnect/vmgroup-operator/internal/metrics"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := assets.Root()
	if err != nil {
		return err
	}
	conditions, err := constantsOf(filepath.Join(root, "api", "v1alpha1", "conditions.go"))
	if err != nil {
		return err
	}
	events, err := constantsOf(filepath.Join(root, "api", "v1alpha1", "events.go"))
	if err != nil {
		return err
	}
	alerts, err := alertsPage(filepath.Join(root, "charts", "vmgroup-operator", "files", "alerts.yaml"))
	if err != nil {
		return err
	}
	packages, err := packagesPage(context.Background(), root)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"metrics.yaml":       metricsList(metrics.All()),
		"metrics.md":         metricsPage(metrics.All()),
		"conditions.md":      conditionsPage(conditions),
		"events.md":          eventsPage(events),
		"alerts.md":          alerts,
		"packages.md":        packages,
		"kubectl-vmgroup.md": pluginPage(),
	} {
		if err := os.WriteFile(filepath.Join(root, "docs", "reference", name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func generated(from string) string { return "`make generate` writes this file from " + from + "." }
