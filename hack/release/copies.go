package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// hubNamespace is the recommended namespace, for which the plain files are.
const hubNamespace = "vmgroup-operator-system"

// copyFiles writes the files for people who use neither Helm nor kustomize for them: CRDs, dashboards and alerts.
func copyFiles(root, dir, version string) error {
	chart := filepath.Join(root, "charts", "vmgroup-operator")
	for from, to := range map[string]string{
		filepath.Join(root, "config", "crd", "bases", "*.yaml"): "crds",
		filepath.Join(chart, "files", "dashboards", "*.json"):   "dashboards",
		filepath.Join(root, "charts", "artifacthub-repo.yml"):   ".",
		filepath.Join(root, "LICENSE"):                          ".",
	} {
		found, err := filepath.Glob(from)
		if err != nil || len(found) == 0 {
			return fmt.Errorf("there is no file %s: %w", from, os.ErrNotExist)
		}
		if err := os.MkdirAll(filepath.Join(dir, to), 0o755); err != nil {
			return err
		}
		for _, path := range found {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, to, filepath.Base(path)), content, 0o644); err != nil {
				return err
			}
		}
	}
	rules, err := os.ReadFile(filepath.Join(chart, "files", "alerts.yaml"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "alerts.yaml"), []byte(plainRules(string(rules), version)), 0o644)
}

// plainRules fills in what the chart fills in: the namespace, and the address of the runbooks. The comment at the top is for developers.
func plainRules(rules, version string) string {
	for strings.HasPrefix(rules, "#") {
		_, rules, _ = strings.Cut(rules, "\n")
	}
	return strings.NewReplacer("NAMESPACE", hubNamespace, "RUNBOOKS", linksOf(version)+"docs/runbooks").Replace(rules)
}

// linksOf is the address of the files of a version.
func linksOf(version string) string { return repository + "/blob/v" + version + "/" }
