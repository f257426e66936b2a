package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// release matches v1.36.5 of k8s.io/kubernetes and v0.36.5 of its libraries, which are one release.
var release = regexp.MustCompile(`^v[01]\.(([1-9][0-9]*)\.[0-9]+)$`)

// shared returns what all go.mod files must require in one version, and that version. Most modules need no common version. Vulnerabilities
// in x/net and x/oauth2 affect every program that serves or calls. Pages name commands of govc, which a test compares with the govmomi of the product.
func shared(path, version string) (what, one string) {
	switch path {
	case "golang.org/x/net", "golang.org/x/oauth2", "github.com/vmware/govmomi":
		return path, version
	}
	if parts := release.FindStringSubmatch(version); parts != nil && strings.HasPrefix(path, "k8s.io/") {
		return "Kubernetes 1." + parts[2], "1." + parts[1]
	}
	return "", ""
}

// oneVersion checks that security updates are in all modules.
func oneVersion(ctx context.Context, root string, files []string) error {
	found := map[string]map[string][]string{} // files by shared name and version
	for _, name := range files {
		if filepath.Base(name) != "go.mod" {
			continue
		}
		out, err := exec.CommandContext(ctx, "go", "mod", "edit", "-json", filepath.Join(root, name)).Output()
		if err != nil {
			return fmt.Errorf("read %s: %w%s", name, err, stderrOf(err))
		}
		type module struct{ Path, Version string }
		var mod struct {
			Require []module
			Replace []struct{ New module }
		}
		if err := json.Unmarshal(out, &mod); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		for _, replace := range mod.Replace {
			mod.Require = append(mod.Require, replace.New)
		}
		for _, m := range mod.Require {
			what, version := shared(m.Path, m.Version)
			if found[what] == nil {
				found[what] = map[string][]string{}
			}
			if !slices.Contains(found[what][version], name) {
				found[what][version] = append(found[what][version], name)
			}
		}
	}
	var problems []error
	for _, what := range slices.Sorted(maps.Keys(found)) {
		if versions := found[what]; len(versions) > 1 {
			text := "  " + what + " has several versions, raise all to the newest:"
			for _, version := range slices.Sorted(maps.Keys(versions)) {
				text += "\n    " + version + " in " + strings.Join(versions[version], ", ")
			}
			problems = append(problems, errors.New(text))
		}
	}
	return errors.Join(problems...)
}

// evaluator is the module of the Common Expression Language. Only a separate test module requires it, because the operator only writes
// expressions.
const evaluator = "github.com/google/cel-go"

// withoutCEL checks that the operator does not link the evaluator, and that its go.mod does not require it.
func withoutCEL(ctx context.Context, root string, _ []string) error {
	for _, args := range [][]string{{"list", "-deps", "./cmd/..."}, {"mod", "edit", "-json"}} {
		command := exec.CommandContext(ctx, "go", args...)
		command.Dir = root
		out, err := command.Output()
		if err != nil {
			return fmt.Errorf("go %s: %w%s", strings.Join(args, " "), err, stderrOf(err))
		}
		if strings.Contains(string(out), evaluator) {
			return fmt.Errorf("  go %s names %s", strings.Join(args, " "), evaluator)
		}
	}
	return nil
}

// pluginParts are packages of the kubectl plugin, which the operator does not need.
var pluginParts = []string{"k8s.io/cli-runtime/", "charm.land/lipgloss/", "vmgroup-operator/internal/plugin/", "vmgroup-operator/internal/term"}

// withoutPlugin checks that the operator does not link any part of the kubectl plugin.
func withoutPlugin(ctx context.Context, root string, _ []string) error {
	return linksNone(ctx, root, "./cmd/manager", pluginParts)
}

// linksNone checks that a program links none of the packages.
func linksNone(ctx context.Context, root, program string, parts []string) error {
	command := exec.CommandContext(ctx, "go", "list", "-deps", program)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("go list -deps %s: %w%s", program, err, stderrOf(err))
	}
	for _, part := range parts {
		if strings.Contains(string(out), part) {
			return fmt.Errorf("  %s links %s", program, part)
		}
	}
	return nil
}
