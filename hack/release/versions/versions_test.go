package versions

import (
	"errors"
	"strings"
	"testing"
)

func TestAnotherVersionInAPageOrTheChartIsFound(t *testing.T) {
	page := "make release VERSION=0.2.0\nhelm install oci://registry.example.com/charts/vmgroup-operator --version 0.1.0\n" +
		"`kubectl-vmgroup_0.2.0-rc.1_linux_amd64.tar.gz`, vCenter 8.0.1, `vmgroup-operator:0.2.0`\n"
	got := errors.Join(others("docs/page.md", page, "0.2.0")...)
	want := "  docs/page.md:2 names version 0.1.0, and the chart has 0.2.0\n  docs/page.md:3 names version 0.2.0-rc.1, and the chart has 0.2.0"
	if got == nil || got.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", got, want)
	}
	good := chart{Version: "0.2.0", AppVersion: "0.2.0", Annotations: map[string]string{"artifacthub.io/images": `[{name: x, image: "vmgroup-operator:0.2.0"}]`}}
	if problems := good.problems(); len(problems) > 0 {
		t.Errorf("a chart with one version: %v", problems)
	}
	bad := chart{Version: "v0.2", AppVersion: "0.2.0"}
	for n, want := range []string{"is not of the form 1.2.3", "set both to one version", "artifacthub.io/images must have one image"} {
		if problems := bad.problems(); len(problems) != 3 || !strings.Contains(problems[n].Error(), want) {
			t.Errorf("a bad chart: %v, want %q", problems, want)
		}
	}
}

func TestThisRepositoryHasOneVersion(t *testing.T) {
	if err := Check(t.Context(), "../../..", nil); err != nil {
		t.Error(err)
	}
}
