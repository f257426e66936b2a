package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// folder is a folder of the chart that contains only files of a folder below config/.
type folder struct {
	to, from string
	files    []string // nil means all YAML files
}

var copies = []folder{
	{to: "crds", from: "crd/bases"},
	{to: "files/rbac", from: "rbac", files: []string{
		"role.yaml", "role_binding.yaml", "metrics_auth_role.yaml", "metrics_reader_role.yaml", "flow_schema.yaml", "logins.yaml", "member_tokens.yaml",
	}},
	{to: "files/events", from: "events", files: []string{"role.yaml"}},
	{to: "files/webhook", from: "webhook", files: []string{"manifests.yaml", "role.yaml"}},
	{to: "files/guard", from: "guard", files: []string{"policy.yaml", "binding.yaml"}},
	{to: "files/member", from: "member-rbac/roles", files: []string{
		"runtime-clusterrole.yaml", "runtime-role.yaml", "bootstrap-clusterrole.yaml", "bootstrap-role.yaml", "limits-reader.yaml",
		"vmgroups.yaml",
	}},
	{to: "files/local-member", from: "local-member", files: []string{"bindings.yaml"}},
}

// do writes the folder below chart from the folder below config, and removes other files from it.
func (f folder) do(config, chart string) error {
	from, to := filepath.Join(config, f.from), filepath.Join(chart, f.to)
	names := f.files
	if names == nil {
		found, err := filepath.Glob(filepath.Join(from, "*.yaml"))
		if err != nil || len(found) == 0 {
			return errors.Join(err, fmt.Errorf("%s has no YAML files", from))
		}
		for _, path := range found {
			names = append(names, filepath.Base(path))
		}
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), content, 0o644); err != nil {
			return err
		}
	}
	found, err := os.ReadDir(to)
	if err != nil {
		return err
	}
	for _, entry := range found {
		if !slices.Contains(names, entry.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(to, entry.Name())))
		}
	}
	return err
}
