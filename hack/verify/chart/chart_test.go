package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// chartOf writes a chart that consists of values, a test and a README.
func chartOf(t *testing.T, values, test, readme string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "tests"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"values.yaml": values, "tests/a_test.yaml": test, "README.md": readme} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	someValues = "a: {b: 1, c: {}}\nselector: {kubernetes.io/os: linux}\n"
	someTable  = "| Key | Type | Default | Description |\n|--|--|--|--|\n| a.b | int | `1` | One. |\n| a.c | object | `{}` | Two. |\n| selector | object | `{}` | Three. |\n"
)

func TestEachValueIsTestedAndExplained(t *testing.T) {
	shows := "tests: [{it: works, set: {a.b: 2, a.c: {x: y}, selector: {pool: infra}}, asserts: [{equal: {}}]}]"
	if err := untested(chartOf(t, someValues, shows, someTable)); err != nil {
		t.Errorf("everything is there, and yet: %v", err)
	}
	for name, c := range map[string]struct{ test, table, want string }{
		"no test":                     {strings.Replace(shows, "a.b: 2, ", "", 1), someTable, "no unit test sets a.b"},
		"no test of a map":            {strings.Replace(shows, "a.c: {x: y}, ", "", 1), someTable, "no unit test sets a.c"},
		"only a test that is refused": {strings.Replace(shows, "equal", "failedTemplate", 1), someTable, "no unit test sets a.b"},
		"no row":                      {shows, strings.Replace(someTable, "| a.c |", "| a.d |", 1), "does not explain a.c"},
		"an empty explanation":        {shows, strings.Replace(someTable, "Two.", "", 1), "does not explain a.c"},
		"an empty one at the end":     {shows, strings.Replace(someTable, "Three.", "", 1), "does not explain selector"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := untested(chartOf(t, someValues, c.test, c.table)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestLeavesTakeTheKeysOfTests(t *testing.T) {
	got := leaves("", map[string]any{"a.b": map[string]any{"c": 1}, "d[0].e": 2, "f": map[string]any{}})
	if want := []string{"a.b.c", "d.e", "f"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestRightsThatNobodyShouldHave(t *testing.T) {
	for text, want := range map[string]error{
		`{kind: Role, rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]}`:                     nil,
		`{kind: FlowSchema, spec: {rules: [{resourceRules: [{verbs: ["*"]}]}]}}`:                           nil,
		`{kind: ClusterRole, rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]}`:              errSecrets,
		`{kind: Role, rules: [{apiGroups: [""], resources: [pods], verbs: ["*"]}]}`:                        errStar,
		`{kind: ClusterRole, rules: [{apiGroups: ["*"], resources: [pods], verbs: [get]}]}`:                errStar,
		`{kind: ClusterRole, rules: [{apiGroups: [a], resources: [b], verbs: [get]}, {resources: ["*"]}]}`: errStar,
		`{kind: ClusterRole, rules: [{nonResourceURLs: ["*"], verbs: [get]}]}`:                             errStar,
	} {
		if got := judgeRole(object(t, text)); got != want { //nolint:errorlint // the very value is returned
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestWhatDiffersFromConfigIsTold(t *testing.T) {
	wanted := object(t, `{kind: Role, metadata: {name: a, namespace: x}, rules: [{verbs: [get]}]}`)
	same := object(t, `{kind: Role, metadata: {name: a, namespace: y, labels: {l: m}}, rules: [{verbs: [get]}]}`)
	other := object(t, `{kind: Role, metadata: {name: a}, rules: [{verbs: [get, list]}]}`)
	if err := compare("f", wanted, []*unstructured.Unstructured{same}); err != nil {
		t.Errorf("only metadata differ, and yet: %v", err)
	}
	for _, rendered := range [][]*unstructured.Unstructured{nil, {other}} {
		if compare("f", wanted, rendered) == nil {
			t.Errorf("nothing was said of %v", rendered)
		}
	}
}

func TestSchemasAreStrict(t *testing.T) {
	var schema map[string]any
	text := `{properties: {a: {type: array, items: {properties: {b: {type: string}}}}, free: {type: object, additionalProperties: {type: string}},
	  kept: {properties: {}, x-kubernetes-preserve-unknown-fields: true}, port: {type: integer, x-kubernetes-int-or-string: true}}}`
	if err := yaml.Unmarshal([]byte(text), &schema); err != nil {
		t.Fatal(err)
	}
	strict(schema)
	properties := schema["properties"].(map[string]any)
	items := properties["a"].(map[string]any)["items"].(map[string]any)
	if schema["additionalProperties"] != false || items["additionalProperties"] != false {
		t.Errorf("unknown fields pass: %v", schema)
	}
	if properties["kept"].(map[string]any)["additionalProperties"] != nil || properties["free"].(map[string]any)["additionalProperties"] == false {
		t.Errorf("fields that are free are refused: %v", schema)
	}
	if properties["port"].(map[string]any)["type"] != nil {
		t.Errorf("a number or a name has to be a number: %v", schema)
	}
}

func TestDefinitionsAreCollectedOnce(t *testing.T) {
	all := map[string]map[string]any{
		"a": {"properties": map[string]any{"b": map[string]any{"$ref": "#/definitions/b"}}},
		"b": {"allOf": []any{map[string]any{"$ref": "#/definitions/a"}}},
		"c": {},
	}
	got := needed(all["a"], all, map[string]any{})
	if len(got) != 2 || got["a"] == nil || got["b"] == nil {
		t.Errorf("got %v, want a and b", got)
	}
}

func TestAnAlertOnAMetricThatDoesNotExistIsFound(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		metricList:                    "vmgroup_a: {type: gauge}\nvmgroup_b_seconds: {type: histogram}\n",
		folder + "/files/alerts.yaml": "vmgroup_a vmgroup_a_count vmgroup_b_seconds_bucket vmgroup_c",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := Alerts(t.Context(), root, nil)
	if err == nil {
		t.Fatal("nothing was found")
	}
	for name, want := range map[string]bool{"vmgroup_a\n": false, "vmgroup_a_count\n": true, "vmgroup_b_seconds_bucket\n": false, "vmgroup_c\n": true} {
		if got := strings.Contains(err.Error()+"\n", name); got != want {
			t.Errorf("%q: found %t, want %t: %v", name, got, want, err)
		}
	}
}

func TestAlertsOfTheChartReadMetricsThatExist(t *testing.T) {
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	if err := Alerts(t.Context(), root, nil); err != nil {
		t.Error(err)
	}
}

// The check would miss a kind whose Pods are at another path.
func TestPodsOfAreThoseOfEachKind(t *testing.T) {
	const pod = "{containers: [{name: a}]}"
	manifests := strings.Join([]string{
		"{kind: Pod, metadata: {name: a}, spec: " + pod + "}",
		"{kind: Job, metadata: {name: a}, spec: {template: {spec: " + pod + "}}}",
		"{kind: CronJob, metadata: {name: a}, spec: {jobTemplate: {spec: {template: {spec: " + pod + "}}}}}",
		"{kind: ConfigMap, metadata: {name: a}}",
	}, "\n---\n")
	pods, err := podsOf([]byte(manifests))
	if err != nil || len(pods) != 3 || pods["Pod a"] == nil || pods["Job a"] == nil || pods["CronJob a"] == nil {
		t.Errorf("found %v, %v", pods, err)
	}
}
