package chart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// metricList lists the operator's metrics. The path is relative to the root.
const metricList = "docs/reference/metrics.yaml"

// metric matches the operator's own metrics in an alert. Names with a colon come from recording rules.
var metric = regexp.MustCompile(`\bvmgroup_[a-z_]+`)

// Alerts checks that the metrics in the alerts exist, because an alert on a renamed metric never fires. test/alerts also checks labels and
// aggregations, with the parser of Prometheus.
func Alerts(_ context.Context, root string, _ []string) error {
	content, err := os.ReadFile(filepath.Join(root, metricList))
	if err != nil {
		return err
	}
	var list map[string]struct {
		Type string `json:"type"`
	}
	if err := yaml.Unmarshal(content, &list); err != nil {
		return fmt.Errorf("  %s: %w", metricList, err)
	}
	var problems []error
	alerts, err := os.ReadFile(filepath.Join(root, folder, "files", "alerts.yaml"))
	if err != nil {
		return err
	}
	names := metric.FindAllString(string(alerts), -1)
	slices.Sort(names)
	if len(names) == 0 {
		return errors.New("  the alerts read no metric of the operator")
	}
	for _, name := range slices.Compact(names) {
		if _, there := list[name]; !there && list[histogramOf(name)].Type != "histogram" {
			problems = append(problems, fmt.Errorf("  %s has no metric %s", metricList, name))
		}
	}
	return errors.Join(problems...)
}

// histogramOf returns the name of a histogram without the suffix of its part.
func histogramOf(name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}
