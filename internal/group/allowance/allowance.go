// Package allowance is the word of a hub administrator that lapses by itself: an annotation with a time, at most an hour ahead, until which something
// is allowed. It is pure.
package allowance

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// longest is how far ahead the time may be.
const longest = time.Hour

// Until reads an annotation of an object. It is zero if there is none, or one that is no time.
func Until(object metav1.Object, annotation string) time.Time {
	until, err := time.Parse(time.RFC3339, object.GetAnnotations()[annotation])
	if err != nil {
		return time.Time{}
	}
	return until.UTC()
}

// Counts reports whether something is allowed now: it is until a time within the next hour. Otherwise, again is when it will be, or zero for never.
func Counts(until, now time.Time) (counts bool, again time.Time) {
	switch begins := until.Add(-longest); {
	case !now.Before(until):
		return false, time.Time{}
	case now.Before(begins):
		return false, begins
	}
	return true, time.Time{}
}

// halfAnHour is a time in half an hour, for shells: the date of macOS and BSD has -v, and that of GNU has -d.
const halfAnHour = "$(date -u -v+30M +%FT%TZ 2>/dev/null || date -u -d +30min +%FT%TZ)"

// Command allows something for half an hour. The resource is that of the object, in the singular.
func Command(resource, name, annotation string) string {
	return fmt.Sprintf("kubectl annotate %s %s %s=%s --overwrite", resource, name, annotation, halfAnHour)
}

// Problem says which of these annotations of an object allow nothing, and what to do: they are no time, or one that is too far ahead. Of one that is over nothing
// is said. again is when the first of them begins to count, or zero.
func Problem(resource string, object metav1.Object, now time.Time, annotations ...string) (problem string, again time.Time) {
	var problems []string
	for _, annotation := range annotations {
		value, set := object.GetAnnotations()[annotation]
		until := Until(object, annotation)
		_, begins := Counts(until, now)
		switch {
		case !set:
		case until.IsZero():
			problems = append(problems, fmt.Sprintf("Annotation %s is %q, which is no time in RFC 3339 (as 2026-01-31T12:00:00Z), and allows nothing; set it so: %s",
				annotation, value[:min(len(value), 40)], Command(resource, object.GetName(), annotation)))
		case !begins.IsZero():
			problems = append(problems, fmt.Sprintf("Annotation %s is %s, more than an hour ahead, and allows nothing before %s; to allow it now: %s",
				annotation, until.Format(time.RFC3339), begins.Format(time.RFC3339), Command(resource, object.GetName(), annotation)))
			if again.IsZero() || begins.Before(again) {
				again = begins
			}
		}
	}
	return strings.Join(problems, ". "), again
}
