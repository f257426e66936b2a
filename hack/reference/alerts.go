package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// rules contains the alerts of a Prometheus rules file.
type rules struct {
	Groups []struct {
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

func alertsPage(file string) ([]byte, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all rules
	if err := yaml.Unmarshal(content, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var b bytes.Buffer
	b.WriteString("# Alerts\n\n<!-- " + generated("charts/vmgroup-operator/files/alerts.yaml") + " -->\n\n")
	b.WriteString("An alert fires when its expression has been true for the time in the third column. Metrics are on [their own page](metrics.md).\n\n" +
		"| Alert | Severity | For | Expression | Runbook |\n| --- | --- | --- | --- | --- |\n")
	for _, group := range all.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" {
				continue
			}
			expr := strings.ReplaceAll(oneLine(strings.ReplaceAll(strings.ReplaceAll(rule.Expr, `namespace="NAMESPACE",`, ""), `{namespace="NAMESPACE"}`, "")), "|", `\|`)
			page := strings.TrimPrefix(rule.Annotations["runbook_url"], "RUNBOOKS/")
			fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` | [%s](../runbooks/%s) |\n", rule.Alert, rule.Labels["severity"], cmp.Or(rule.For, "0s"), expr, strings.TrimSuffix(page, ".md"), page)
		}
	}
	return b.Bytes(), nil
}
