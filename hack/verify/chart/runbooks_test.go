package chart

import (
	"strings"
	"testing"
)

func TestARunbookThatIsMissingOrLeftOverIsFound(t *testing.T) {
	well := func() (alert, map[string]string, string) {
		return alert{
				Alert: "VmGroupX", Labels: map[string]string{"severity": "warning"},
				Annotations: map[string]string{"summary": "s", "description": "d", "runbook_url": "RUNBOOKS/x.md"},
			}, map[string]string{"x.md": "# X\n## Meaning\n`VmGroupX`\n## Impact\n## Diagnosis\n## Mitigation\n## Escalation\n"},
			"`VmGroupX`"
	}
	for want, spoil := range map[string]func(a *alert, pages map[string]string, index *string){
		"":                                  func(*alert, map[string]string, *string) {},
		"docs/runbooks/x.md does not exist": func(_ *alert, pages map[string]string, _ *string) { delete(pages, "x.md") },
		"docs/runbooks/README.md does not link to restore.md": func(_ *alert, pages map[string]string, _ *string) { pages["restore.md"] = "# A procedure\n" },
		"docs/runbooks/y.md belongs to no alert":              func(_ *alert, pages map[string]string, _ *string) { pages["y.md"] = pages["x.md"] },
		"runbook_url \"\" is not":                             func(a *alert, _ map[string]string, _ *string) { delete(a.Annotations, "runbook_url") },
		"severity \"\" is none of":                            func(a *alert, _ map[string]string, _ *string) { delete(a.Labels, "severity") },
		"lacks a summary or a description":                    func(a *alert, _ map[string]string, _ *string) { delete(a.Annotations, "summary") },
		"docs/runbooks/README.md lacks alert VmGroupX":        func(_ *alert, _ map[string]string, index *string) { *index = "" },
		"docs/runbooks/x.md does not name alert VmGroupX": func(_ *alert, pages map[string]string, _ *string) {
			pages["x.md"] = strings.Replace(pages["x.md"], "VmGroupX", "", 1)
		},
		"has the headings": func(_ *alert, pages map[string]string, _ *string) {
			pages["x.md"] = strings.Replace(pages["x.md"], "## Impact\n", "", 1)
		},
	} {
		a, pages, index := well()
		spoil(&a, pages, &index)
		err := checkRunbooks([]alert{a}, pages, index)
		switch {
		case want == "" && err != nil:
			t.Errorf("a runbook that is right is not accepted: %v", err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
