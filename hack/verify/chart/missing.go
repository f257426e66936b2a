package chart

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/yaml"
)

// removable are values that users can set to null, with their children, because Kubernetes has its own defaults for them. The chart's helper
// vmgroup-operator.fill has the same list.
var removable = []string{"resources", "jobs.resources", "livenessProbe", "readinessProbe", "strategy.rollingUpdate", "nodeSelector"}

// earlier contains the values of ten earlier commits, one in each line. `helm upgrade --reuse-values` renders this chart with such values instead of its own.
//
//go:embed earlier.jsonl
var earlier []byte

// MissingValues renders the chart without each of its values in turn, and with the values of earlier charts alone. Helm has no default for a new value of a
// later chart after --reuse-values, and none for a value that is null. The chart must use its own default.
func MissingValues(ctx context.Context, root string, _ []string) error {
	chart := filepath.Join(root, folder)
	content, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return err
	}
	var defaults map[string]any
	if err := yaml.Unmarshal(content, &defaults); err != nil {
		return fmt.Errorf("values.yaml: %w", err)
	}
	whole, err := template(ctx, chart)
	if err != nil {
		return err
	}
	paths := everyValue("", defaults)
	problems := make([]error, len(paths), len(paths)+1)
	var rendering errgroup.Group
	rendering.SetLimit(2)
	for i, path := range paths {
		rendering.Go(func() error {
			without, err := template(ctx, chart, "--set", path+"=null")
			free := slices.ContainsFunc(upwards(path), func(p string) bool { return slices.Contains(removable, p) })
			if err == nil && !free && !bytes.Equal(whole, without) {
				err = errors.New("its default does not take its place")
			}
			if err != nil {
				problems[i] = fmt.Errorf("  without %s: %w", path, err)
			}
			return nil
		})
	}
	_ = rendering.Wait() // each task records its own error
	return errors.Join(append(problems, earlierValues(ctx, chart))...)
}

// everyValue lists the paths of all values, including maps and their content.
func everyValue(prefix string, values map[string]any) (paths []string) {
	for key, value := range values {
		if value == nil {
			continue // Helm omits such a value
		}
		paths = append(paths, prefix+strings.ReplaceAll(key, ".", `\.`))
		if below, ok := value.(map[string]any); ok {
			paths = append(paths, everyValue(prefix+key+".", below)...)
		}
	}
	return paths
}

func earlierValues(ctx context.Context, chart string) error {
	dir, err := os.MkdirTemp("", "vmgroup-chart-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.CopyFS(dir, os.DirFS(chart)); err != nil {
		return err
	}
	var problems []error
	for line := range bytes.Lines(earlier) {
		var of struct {
			Commit string
			Values json.RawMessage
		}
		if err := json.Unmarshal(line, &of); err != nil {
			return fmt.Errorf("earlier.jsonl: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, "values.yaml"), of.Values, 0o600); err != nil {
			return err
		}
		if _, err := template(ctx, dir); err != nil {
			problems = append(problems, fmt.Errorf("  with the values of commit %s: %w", of.Commit, err))
		}
	}
	return errors.Join(problems...)
}

func template(ctx context.Context, chart string, args ...string) ([]byte, error) {
	command, err := command(ctx, "helm", append([]string{"template", release, chart, "--namespace", namespace}, args...)...)
	if err != nil {
		return nil, err
	}
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("helm template: %w%s", err, stderrOf(err))
	}
	return out, nil
}
