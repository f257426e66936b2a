package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/metrics"
)

// metricsList returns the list for programs. The checks of the alerts read it.
func metricsList(all []*metrics.Definition) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# The metrics of the operator: type, labels, and which replica reports a series. %s\n", generated("internal/metrics"))
	b.WriteString("# Alerts (charts/vmgroup-operator/files/alerts.yaml) read these only, and aggregate them by the reporter; test/alerts checks both.\n")
	for _, d := range all {
		fmt.Fprintf(&b, "%s: {type: %s, labels: [%s], reporter: %s}\n", d.Name, d.Type, strings.Join(d.LabelNames(), ", "), d.Reporter)
	}
	return b.Bytes()
}

// metricsPage returns the page for users.
func metricsPage(all []*metrics.Definition) []byte {
	var b bytes.Buffer
	b.WriteString("# Metrics\n\n<!-- " + generated("internal/metrics") + " -->\n\n")
	b.WriteString(`Each replica serves its metrics at ` + "`/metrics`" + `. The reporter of a metric determines how you aggregate it over replicas:

| Reporter | Reports | Aggregate with |
| --- | --- | --- |
| owner | The replica that holds the bucket of a VmGroup, at the moment of the scrape | ` + "`sum`" + ` |
| everyone | Each replica, its own view | ` + "`max`, `min`" + ` |
| leader | The leader, while it leads | ` + "`max`" + ` |
| process | Each replica, what it did since it started, or what it has now | ` + "`sum`, of counters `sum(rate())`" + ` |

A gauge with labels has no series for a value of 0, unless its description names the value 0. Use ` + "`or vector(0)`" + `.

| Metric | Type | Labels | Reporter | Description |
| --- | --- | --- | --- | --- |
`)
	for _, d := range all {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", d.Name, d.Type, labels(d), d.Reporter, strings.ReplaceAll(d.Help, "|", `\|`))
	}
	return b.Bytes()
}

// labels lists the labels. A label with a closed set of values lists them too.
func labels(d *metrics.Definition) string {
	names := make([]string, 0, len(d.Labels))
	for _, l := range d.Labels {
		name := "`" + l.Name + "`"
		if len(l.Values) > 0 {
			name += " (" + strings.Join(l.Values, ", ") + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, "; ")
}
