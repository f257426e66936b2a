package chart

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// headings of each runbook, in this order.
var headings = []string{"## Meaning", "## Impact", "## Diagnosis", "## Mitigation", "## Escalation"}

// procedures are pages of docs/runbooks that belong to no alert: users start them, and they have their own headings.
var procedures = []string{"crd-deleted.md", "disaster-recovery.md", "foreign-disk.md", "restore.md", "troubleshooting.md", "vcenter-lost.md"}

// alert is an alert of the chart, with the parts that users see.
type alert struct {
	Alert       string            `json:"alert"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// Runbooks checks that each alert has a severity, a summary, a description and a runbook that names it. Each runbook must belong to an alert, and all have the
// same headings. The index of the runbooks must name all alerts, and link to all procedures.
func Runbooks(_ context.Context, root string, _ []string) error {
	alerts, err := alertsOf(root)
	if err != nil {
		return err
	}
	pages, err := pagesOf(filepath.Join(root, "docs", "runbooks"))
	if err != nil {
		return err
	}
	index := pages["README.md"]
	delete(pages, "README.md")
	return checkRunbooks(alerts, pages, index)
}

func alertsOf(root string) ([]alert, error) {
	content, err := os.ReadFile(filepath.Join(root, folder, "files", "alerts.yaml"))
	if err != nil {
		return nil, err
	}
	var file struct {
		Groups []struct {
			Rules []alert `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.Unmarshal(content, &file); err != nil {
		return nil, fmt.Errorf("  files/alerts.yaml: %w", err)
	}
	var all []alert
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			if rule.Alert != "" {
				all = append(all, rule)
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("  files/alerts.yaml has no alerts")
	}
	return all, nil
}

// pagesOf reads the pages of a folder, by file name.
func pagesOf(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	pages := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		pages[entry.Name()] = string(content)
	}
	return pages, nil
}

var (
	address    = regexp.MustCompile(`^RUNBOOKS/([a-z-]+\.md)$`)
	severities = []string{"critical", "warning", "info"}
	alertName  = regexp.MustCompile("`(VmGroup[A-Z][A-Za-z]*)`")
)

func checkRunbooks(alerts []alert, pages map[string]string, index string) error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf("  "+format, args...)) }
	of := map[string][]string{} // alerts by runbook
	for _, a := range alerts {
		if !slices.Contains(severities, a.Labels["severity"]) {
			problem("alert %s: severity %q is none of %v", a.Alert, a.Labels["severity"], severities)
		}
		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" {
			problem("alert %s lacks a summary or a description", a.Alert)
		}
		if !strings.Contains(index, "`"+a.Alert+"`") {
			problem("docs/runbooks/README.md lacks alert %s", a.Alert)
		}
		found := address.FindStringSubmatch(a.Annotations["runbook_url"])
		if found == nil {
			problem("alert %s: runbook_url %q is not RUNBOOKS/name.md", a.Alert, a.Annotations["runbook_url"])
			continue
		}
		of[found[1]] = append(of[found[1]], a.Alert)
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		page, there := pages[name]
		if !there {
			problem("docs/runbooks/%s does not exist, and %v refer to it", name, of[name])
			continue
		}
		problems = append(problems, checkPage(name, page, of[name]))
	}
	for _, name := range procedures {
		if _, there := pages[name]; there && !strings.Contains(index, "("+name+")") {
			problem("docs/runbooks/README.md does not link to %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if len(of[name]) == 0 && !slices.Contains(procedures, name) {
			problem("docs/runbooks/%s belongs to no alert", name)
		}
	}
	return errors.Join(problems...)
}

// checkPage checks the headings of a runbook and the alerts that it names under Meaning.
func checkPage(name, page string, alerts []string) error {
	var problems []error
	var got []string
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "## ") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if !slices.Equal(got, headings) {
		return fmt.Errorf("  docs/runbooks/%s has the headings %q, want %q", name, got, headings)
	}
	meaning, _, _ := strings.Cut(page, headings[1])
	named := map[string]bool{}
	for _, match := range alertName.FindAllStringSubmatch(meaning, -1) {
		named[match[1]] = true
	}
	for _, a := range alerts {
		if !named[a] {
			problems = append(problems, fmt.Errorf("  docs/runbooks/%s does not name alert %s under Meaning", name, a))
		}
	}
	return errors.Join(problems...)
}
