package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheSchemaInsistsOnEachValue(t *testing.T) {
	const (
		values = "a: {b: 1, c: {}, free: null}\nresources: {limits: {memory: 1Mi}}\nselector: {kubernetes.io/os: linux}\n"
		whole  = `{"properties": {"a": {"required": ["b", "c"]}}, "required": ["a", "resources", "selector"]}`
	)
	for name, c := range map[string]struct{ schema, want string }{
		"everything":                  {whole, ""},
		"a value is not required":     {strings.Replace(whole, `"b", `, "", 1), "require a.b:"},
		"a map is not required":       {strings.Replace(whole, `, "c"`, "", 1), "require a.c:"},
		"an object is not required":   {strings.Replace(whole, `"a", `, "", 1), "require a:"},
		"labels are not required":     {strings.Replace(whole, `, "selector"`, "", 1), "require selector:"},
		"nothing below is required":   {strings.Replace(whole, `"required": ["b", "c"]`, "", 1), "require a.b:"},
		"what a person may take away": {strings.Replace(whole, `"resources", `, "", 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := chartOf(t, values, "", "")
			if err := os.WriteFile(filepath.Join(dir, "values.schema.json"), []byte(c.schema), 0o644); err != nil {
				t.Fatal(err)
			}
			err := notRequired(dir)
			if c.want == "" && err != nil {
				t.Errorf("nothing is wrong, and yet: %v", err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestWhatTheSchemaRequiresIsInTheChart(t *testing.T) {
	if err := notRequired(filepath.Join("..", "..", "..", folder)); err != nil {
		t.Error(err)
	}
}
