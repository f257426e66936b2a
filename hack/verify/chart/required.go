package chart

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// removable are values that a person may take away by null, and what is below them: Kubernetes has defaults of its own for those.
var removable = []string{"resources", "jobs.resources", "livenessProbe", "readinessProbe", "strategy.rollingUpdate"}

// schema is what this check reads of values.schema.json.
type schema struct {
	Properties map[string]schema
	Required   []string
}

// notRequired reports values of values.yaml that the schema does not insist on. Helm drops a value that is set to null, and with
// --reuse-values it has none for what a later chart adds. Templates would take those for false, zero or empty.
func notRequired(chart string) error {
	content, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return err
	}
	var defaults map[string]any
	if err := yaml.Unmarshal(content, &defaults); err != nil {
		return fmt.Errorf("values.yaml: %w", err)
	}
	if content, err = os.ReadFile(filepath.Join(chart, "values.schema.json")); err != nil {
		return err
	}
	var root schema
	if err := json.Unmarshal(content, &root); err != nil {
		return fmt.Errorf("values.schema.json: %w", err)
	}
	return root.insistsOn("", defaults)
}

func (s schema) insistsOn(prefix string, values map[string]any) error {
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(values)) {
		path, value := prefix+key, values[key]
		below, isMap := value.(map[string]any)
		if value == nil || isMap && labels(below) && slices.Contains(s.Required, key) {
			continue
		}
		if !slices.Contains(s.Required, key) && !slices.Contains(removable, path) {
			problems = append(problems, fmt.Errorf("  values.schema.json does not require %s: what does null mean there?", path))
		}
		if isMap && !slices.Contains(removable, path) {
			problems = append(problems, s.Properties[key].insistsOn(path+".", below))
		}
	}
	return errors.Join(problems...)
}
