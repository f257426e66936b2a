package docs

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/jsonpath"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// TestOneCommandFindsThePercentages reads the command before a rollback out of docs/upgrade.md, and has kubectl's own package print its columns for
// groups with and without percentages.
func TestOneCommandFindsThePercentages(t *testing.T) {
	page := read(t, filepath.Join(root, "docs", "upgrade.md"))
	commands := regexp.MustCompile(`(?m)^kubectl get vmgroups -A -o custom-columns=(\S+) \| grep %$`).FindAllStringSubmatch(page, -1)
	if len(commands) != 1 {
		t.Fatalf("docs/upgrade.md has the command %d times", len(commands))
	}
	var columns []string
	for column := range strings.SplitSeq(commands[0][1], ",") {
		_, path, _ := strings.Cut(column, ":")
		columns = append(columns, path)
	}
	// Each field that may have a percentage has a column.
	paths := percentagePaths(reflect.TypeFor[v1alpha1.VmGroupSpec](), ".spec")
	for _, path := range append([]string{".metadata.namespace", ".metadata.name"}, paths...) {
		if !slices.Contains(columns, path) {
			t.Errorf("the command has no column of %s", path)
		}
	}
	if len(paths) != 3 {
		t.Errorf("percentages may be at %v", paths)
	}
	for spec, found := range map[string]bool{
		`{"updateStrategy":{"maxSurge":"25%"}}`:                               true,
		`{"updateStrategy":{"maxSurge":1,"maxUnavailable":"0%"}}`:             true,
		`{"repair":{"maxUnhealthy":"40%"}}`:                                   true,
		`{"updateStrategy":{"maxSurge":25},"repair":{"maxUnhealthy":2}}`:      false,
		`{"updateStrategy":{"replaceTrigger":"25%"},"template":"t%","cpu":1}`: false,
		`{}`: false,
	} {
		if line := printed(t, columns, `{"metadata":{"namespace":"shop","name":"web"},"spec":`+spec+`}`); strings.Contains(line, "%") != found || !strings.HasPrefix(line, "shop web") {
			t.Errorf("of %s it prints %q", spec, line)
		}
	}
}

// percentagePaths are the paths of fields that may have a percentage.
func percentagePaths(of reflect.Type, path string) (paths []string) {
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch inner := field.Type; {
		case inner == reflect.TypeFor[*intstr.IntOrString]():
			paths = append(paths, path+"."+name)
		case inner.Kind() == reflect.Pointer && inner.Elem().Kind() == reflect.Struct:
			paths = append(paths, percentagePaths(inner.Elem(), path+"."+name)...)
		}
	}
	return paths
}

// printed is what kubectl prints of an object.
func printed(t *testing.T, columns []string, object string) string {
	t.Helper()
	var content any
	if err := json.Unmarshal([]byte(object), &content); err != nil {
		t.Fatal(err)
	}
	line := make([]string, 0, len(columns))
	for _, column := range columns {
		parser, cell := jsonpath.New(column).AllowMissingKeys(true), &strings.Builder{}
		if err := parser.Parse("{" + column + "}"); err != nil {
			t.Fatalf("column %s: %v", column, err)
		}
		if err := parser.Execute(cell, content); err != nil {
			t.Fatalf("column %s: %v", column, err)
		}
		line = append(line, cell.String())
	}
	return strings.Join(line, " ")
}
