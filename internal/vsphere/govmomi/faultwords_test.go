package govmomi

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// allFaults are all fault types of the library, by name.
func allFaults(t *testing.T) map[string]types.BaseMethodFault {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/vmware/govmomi/vim25/types").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "types.go"))
	if err != nil {
		t.Fatal(err)
	}
	lookup, all := types.TypeFunc(), map[string]types.BaseMethodFault{}
	for _, found := range regexp.MustCompile(`(?m)^type (\w+) struct`).FindAllSubmatch(source, -1) {
		name := string(found[1])
		if typ, ok := lookup(name); ok {
			if f, ok := reflect.New(typ).Interface().(types.BaseMethodFault); ok {
				all[name] = f
			}
		}
	}
	return all
}

func TestEveryFaultOfVCenterIsASentenceForAPerson(t *testing.T) {
	all := allFaults(t)
	if len(all) < 500 {
		t.Fatalf("only %d faults are known", len(all))
	}
	for name, f := range all {
		task := taskError{&types.LocalizedMethodFault{Fault: f}}
		simulated := taskError{&types.LocalizedMethodFault{Fault: f, LocalizedMessage: "*types." + name}}
		for _, err := range []error{translate("mark web-2", task), translate("mark web-2", simulated), translate("mark web-2", soap.WrapVimFault(f))} {
			text := err.Error()
			words, isNamed := strings.CutSuffix(text, " (vCenter's fault "+name+")")
			if strings.Contains(text, "types.") || strings.Contains(text, "*") || !isNamed || len(strings.Fields(words)) < 6 {
				t.Errorf("%s reads %q", name, text)
			}
		}
	}
}

func TestWhatVCenterSaysItselfIsKept(t *testing.T) {
	err := translate("mark web-2", taskError{&types.LocalizedMethodFault{Fault: &types.NotSupported{}, LocalizedMessage: "Not now."}})
	if got, want := err.Error(), "mark web-2: Not now (vCenter's fault NotSupported)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
