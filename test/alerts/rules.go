package alerts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

const (
	root  = "../.."
	chart = root + "/charts/vmgroup-operator"
	// namespace of the release.
	namespace = "hub"
)

// syntax is the language of Prometheus without experimental functions: Prometheus and Grafana accept it without flags.
var syntax = parser.NewParser(parser.Options{})

// chartRules are the rules as the chart renders them.
func chartRules() ([]rulefmt.Rule, error) {
	content, err := os.ReadFile(filepath.Join(chart, "files", "alerts.yaml"))
	if err != nil {
		return nil, err
	}
	text := strings.NewReplacer("NAMESPACE", namespace).Replace(string(content))
	groups, errs := rulefmt.Parse([]byte(text), false, model.UTF8Validation, syntax, promslog.NewNopLogger())
	if len(errs) > 0 {
		return nil, fmt.Errorf("files/alerts.yaml: %v", errs)
	}
	var all []rulefmt.Rule
	for _, group := range groups.Groups {
		all = append(all, group.Rules...)
	}
	return all, nil
}

// metric is a row of the list of metrics.
type metric struct {
	Type     string   `yaml:"type"`
	Labels   []string `yaml:"labels"`
	Reporter string   `yaml:"reporter"`
}

// listedMetrics are the metrics that the operator has.
func listedMetrics() (map[string]metric, error) {
	content, err := os.ReadFile(filepath.Join(root, "docs", "reference", "metrics.yaml"))
	if err != nil {
		return nil, err
	}
	list := map[string]metric{}
	if err := yaml.Unmarshal(content, &list); err != nil {
		return nil, fmt.Errorf("docs/reference/metrics.yaml: %w", err)
	}
	return list, nil
}

// family is the metric to which a series of this name belongs: the parts of a histogram have the name of the histogram.
func family(name string, list map[string]metric) (string, metric, bool) {
	if m, ok := list[name]; ok {
		return name, m, true
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		whole, found := strings.CutSuffix(name, suffix)
		if m, ok := list[whole]; found && ok && m.Type == "histogram" {
			return whole, m, true
		}
	}
	return "", metric{}, false
}

// holdOf is the `for` of an alert.
func holdOf(rule rulefmt.Rule) time.Duration { return time.Duration(rule.For) }
