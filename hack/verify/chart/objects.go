package chart

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Schemas compares every object with the schema of its kind. It refuses unknown fields.
func Schemas(ctx context.Context, root string, _ []string) error {
	files, err := render(ctx, root)
	if err != nil {
		return err
	}
	schemas, err := writeSchemas(ctx, root, rendered.dir)
	if err != nil {
		return err
	}
	args := []string{"-strict", "-summary", "-schema-location", filepath.Join(schemas, "{{.Group}}_{{.ResourceAPIVersion}}_{{.ResourceKind}}.json")}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		args = append(args, files[name])
	}
	return run(ctx, "kubeconform", args...)
}

// PodSecurity checks that every Pod is allowed in a namespace with the restricted profile.
func PodSecurity(ctx context.Context, root string, _ []string) error {
	files, err := render(ctx, root)
	if err != nil {
		return err
	}
	return run(ctx, "pod-security", slices.Sorted(maps.Values(files))...)
}

// notAsked are tests of kube-score that do not apply to the chart, and the reasons.
var notAsked = map[string]string{
	"container-image-pull-policy":         "a release names its image by tag or digest, and both stay what they are; an air-gapped node has it",
	"deployment-has-host-podantiaffinity": "topology spread constraints do the same, over zones as well",
}

// notAskedOf are more of them for sets of values that are about that setting.
var notAskedOf = map[string]map[string]string{
	"single-cluster": {"deployment-replicas": "one replica is asked for"},
	"node-port":      {"service-type": "a port of the nodes is asked for"},
	"everything-off": {"pod-networkpolicy": "turned off", "deployment-has-poddisruptionbudget": "turned off"},
}

// Scores runs kube-score, which must have no findings.
func Scores(ctx context.Context, root string, _ []string) error {
	files, err := render(ctx, root)
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		// A throttled replica would miss the renewal of its session, and its groups would move.
		args := []string{"score", "--output-format", "ci", "--ignore-container-cpu-limit"}
		for _, test := range slices.Concat(slices.Sorted(maps.Keys(notAsked)), slices.Sorted(maps.Keys(notAskedOf[name]))) {
			args = append(args, "--ignore-test", test)
		}
		command, err := command(ctx, "kube-score", append(args, files[name])...)
		if err != nil {
			return err
		}
		out, err := command.Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) { // it also fails if it has findings
			return err
		}
		for line := range strings.Lines(string(out)) {
			if !strings.HasPrefix(line, "[OK]") && !strings.HasPrefix(line, "[SKIPPED]") {
				problems = append(problems, fmt.Errorf("  %s: %s", name, strings.TrimSpace(line)))
			}
		}
	}
	return errors.Join(problems...)
}

// stderrOf returns the error output of a failed command.
func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return ": " + strings.TrimSpace(string(exit.Stderr))
	}
	return ""
}
