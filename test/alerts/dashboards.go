package alerts

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// board is the part of a dashboard that the tests read.
type board struct {
	Title      string
	Panels     []panel
	Templating struct {
		List []struct {
			Name  string
			Type  string
			Query string
		}
	}
}

type panel struct {
	ID          int `json:"id"`
	Type        string
	Title       string
	Description string
	GridPos     struct{ X, Y, W, H int }
	FieldConfig struct {
		Defaults struct{ Unit string }
	}
	Targets []struct{ Expr, LegendFormat string }
}

// chartBoards are the dashboards of the chart by the names of their files.
func chartBoards() (map[string]board, error) {
	files, err := filepath.Glob(filepath.Join(chart, "files", "dashboards", "*.json"))
	if err != nil {
		return nil, err
	}
	all := map[string]board{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var b board
		if err := json.Unmarshal(content, &b); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = b
	}
	return all, nil
}

// chosen is a query as Grafana sends it after a user has selected the namespace and all vCenters and members.
func chosen(expr string) string {
	return strings.NewReplacer("$namespace", namespace, "$vcenter", ".*", "$member", ".*", "$__rate_interval", "2m").Replace(expr)
}

// variable is one of Grafana's.
var variable = regexp.MustCompile(`\$\w+`)

// legend matches the labels in the legend of a query.
var legend = regexp.MustCompile(`{{(\w+)}}`)

// selected matches the query of a variable: the metric, and the label whose values it has.
var selected = regexp.MustCompile(`^label_values\((\w+)(?:{namespace="\$namespace"})?, (\w+)\)$`)

// lacks are the labels of a legend that a series does not have.
func lacks(format string, series labels.Labels) (missing []string) {
	for _, found := range legend.FindAllStringSubmatch(format, -1) {
		if series.Get(found[1]) == "" {
			missing = append(missing, found[1])
		}
	}
	return missing
}

// overlap reports whether two panels overlap.
func overlap(a, b panel) bool {
	p, q := a.GridPos, b.GridPos
	return p.X < q.X+q.W && q.X < p.X+p.W && p.Y < q.Y+q.H && q.Y < p.Y+p.H
}
