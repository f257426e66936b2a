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

	"github.com/codeconnect/vmgroup-operator/internal/metrics"
)

// metric matches the operator's own metrics in an alert.
var metric = regexp.MustCompile(`\bvmgroup_[a-z_]+`)

// Alerts looks whether the metrics that the alerts read exist: an alert on a metric that was renamed never fires.
func Alerts(_ context.Context, root string, _ []string) error {
	alerts, err := os.ReadFile(filepath.Join(root, folder, "files", "alerts.yaml"))
	if err != nil {
		return err
	}
	names := metric.FindAllString(string(alerts), -1)
	slices.Sort(names)
	if len(names) == 0 {
		return errors.New("  the alerts read no metric of the operator")
	}
	var problems []error
	for _, name := range slices.Compact(names) {
		if !measured(name) {
			problems = append(problems, fmt.Errorf("  internal/metrics defines no metric %s", name))
		}
	}
	return errors.Join(problems...)
}

// measured reports whether the operator has the series: a metric, or a part of a histogram.
func measured(name string) bool {
	return slices.ContainsFunc(metrics.All(), func(d *metrics.Definition) bool {
		rest, found := strings.CutPrefix(name, d.Name)
		return found && (rest == "" || d.Type == metrics.Histogram && slices.Contains([]string{"_bucket", "_count", "_sum"}, rest))
	})
}
