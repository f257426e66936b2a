// Package allowance reads temporary permissions of a hub administrator: an annotation with a time, at most an hour ahead, until which an action is allowed. It is pure.
package allowance

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// longest is the maximum time ahead.
const longest = time.Hour

// Until reads an annotation of an object. It returns zero for a missing annotation or an invalid time.
func Until(object metav1.Object, annotation string) time.Time {
	until, err := time.Parse(time.RFC3339, object.GetAnnotations()[annotation])
	if err != nil {
		return time.Time{}
	}
	return until.UTC()
}

// Counts reports whether an action is allowed now: until must be within the next hour. Otherwise, again is when the allowance begins, or zero for never.
func Counts(until, now time.Time) (counts bool, again time.Time) {
	switch begins := until.Add(-longest); {
	case !now.Before(until):
		return false, time.Time{}
	case now.Before(begins):
		return false, begins
	}
	return true, time.Time{}
}

// halfAnHour is a shell expression for a time in half an hour: the date command of macOS and BSD has -v, and that of GNU has -d.
const halfAnHour = "$(date -u -v+30M +%FT%TZ 2>/dev/null || date -u -d +30min +%FT%TZ)"

// Command returns the command that allows an action for half an hour. resource is the singular name of the object's resource.
func Command(resource, name, annotation string) string {
	return fmt.Sprintf("kubectl annotate %s %s %s=%s --overwrite", resource, name, annotation, halfAnHour)
}

// Problem reports which of these annotations of an object allow nothing, with the remedy: their value is no time, or a time too far ahead. It does not report expired ones. again
// is when the first of them begins to count, or zero.
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
