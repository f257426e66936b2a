package allowance

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func annotated(annotations map[string]string) metav1.Object {
	return &metav1.ObjectMeta{Name: "team-a", Annotations: annotations}
}

func TestAnAllowanceCountsWithinItsHour(t *testing.T) {
	for _, test := range []struct {
		ahead, again time.Duration
		counts       bool
	}{
		{ahead: -time.Second}, {ahead: 0}, {ahead: time.Second, counts: true}, {ahead: time.Hour, counts: true},
		{ahead: time.Hour + time.Second, again: time.Second}, {ahead: 24 * time.Hour, again: 23 * time.Hour},
	} {
		counts, again := Counts(noon.Add(test.ahead), noon)
		if counts != test.counts || again.IsZero() != (test.again == 0) || test.again != 0 && !again.Equal(noon.Add(test.again)) {
			t.Errorf("%s ahead: %t, again at %s", test.ahead, counts, again)
		}
	}
	if counts, again := Counts(time.Time{}, noon); counts || !again.IsZero() {
		t.Error("without a time there is an allowance")
	}
}

func TestAnAllowanceThatDoesNotCountIsTold(t *testing.T) {
	at := func(d time.Duration) string { return noon.Add(d).Format(time.RFC3339) }
	for name, test := range map[string]struct{ value, says, again string }{
		"in time":                             {value: at(30 * time.Minute)},
		"in another time zone":                {value: noon.Add(30 * time.Minute).In(time.FixedZone("", 7200)).Format(time.RFC3339)},
		"over":                                {value: at(-time.Minute)},
		"too far ahead":                       {at(3 * time.Hour), "is 2026-03-01T15:00:00Z, more than an hour ahead, and allows nothing before 2026-03-01T14:00:00Z; to allow it now: kubectl annotate vcenter team-a a=", "14:00"},
		"a time of day":                       {value: "13:00", says: `is "13:00", which is no time in RFC 3339`},
		"what a date that knows no -d leaves": {value: "", says: `is "", which is no time in RFC 3339`},
		"a word":                              {value: "true", says: "kubectl annotate vcenter team-a a=" + halfAnHour + " --overwrite"},
		"a value that is no message":          {value: strings.Repeat("x", 1<<16), says: "no time in RFC 3339"},
	} {
		object := annotated(map[string]string{"a": test.value})
		problem, again := Problem("vcenter", object, noon, "a", "b")
		if (problem == "") != (test.says == "") || !strings.Contains(problem, test.says) || len(problem) > 1000 || strings.Contains(problem, "Annotation b") {
			t.Errorf("%s: %q", name, problem)
		}
		if again.IsZero() != (test.again == "") || test.again != "" && again.Format("15:04") != test.again {
			t.Errorf("%s: again at %s", name, again)
		}
		if counts, _ := Counts(Until(object, "a"), noon); counts != strings.HasPrefix(name, "in ") {
			t.Errorf("%s: counts: %t", name, counts)
		}
	}
}

func TestEachOfSeveralAllowancesIsTold(t *testing.T) {
	at := func(d time.Duration) string { return noon.Add(d).Format(time.RFC3339) }
	problem, again := Problem("membercluster", annotated(map[string]string{"a": at(4 * time.Hour), "b": "soon", "c": at(3 * time.Hour), "d": at(time.Minute), "e": "?"}), noon, "a", "b", "c", "d")
	for _, want := range []string{"Annotation a is", ". Annotation b is", ". Annotation c is"} {
		if !strings.Contains(problem, want) {
			t.Errorf("%q is not in %q", want, problem)
		}
	}
	if strings.Contains(problem, "Annotation d") || strings.Contains(problem, "Annotation e") || !again.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("%q, again at %s", problem, again)
	}
	if problem, again := Problem("membercluster", annotated(nil), noon, "a"); problem != "" || !again.IsZero() {
		t.Errorf("without annotations %q, again at %s", problem, again)
	}
}
