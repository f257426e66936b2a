package policy

import (
	"fmt"
	"math"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

const bytesPerGiB = 1 << 30

// readable matches the amounts that the schema accepts. It is checked first: resource.ParseQuantity computes a power of ten of the exponent, and an
// exponent of eight digits takes seconds of CPU time.
var readable = regexp.MustCompile(`^([0-9]{1,19}([.][0-9]{0,9})?|[.][0-9]{1,9})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`)

// ceilGiB rounds an amount up to whole GiB. problem explains why the amount cannot be used, or is empty.
func ceilGiB(a v1alpha1.Amount) (gib int64, problem string) { return wholeGiB(a, 1) }

// floorGiB rounds an amount down to whole GiB.
func floorGiB(a v1alpha1.Amount) (gib int64, problem string) { return wholeGiB(a, -1) }

func wholeGiB(a v1alpha1.Amount, round int64) (gib int64, problem string) {
	if !readable.MatchString(string(a)) {
		return 0, fmt.Sprintf("%s is no amount such as 8Gi or 512Mi", shortened(string(a)))
	}
	q, err := resource.ParseQuantity(string(a))
	if err != nil {
		return 0, fmt.Sprintf("%s is no amount such as 8Gi or 512Mi", shortened(string(a)))
	}
	if q.CmpInt64(math.MaxInt64) > 0 {
		return 0, fmt.Sprintf("%s is too large; at most 9223372036854775807 bytes are possible", shortened(string(a)))
	}
	gib = q.Value() / bytesPerGiB // Value rounds up
	if order := q.CmpInt64(gib * bytesPerGiB); order != 0 && int64(order) == round {
		gib += round
	}
	return gib, ""
}

// shortened quotes text of an object and shortens it.
func shortened(text string) string {
	const most = 40
	if len(text) > most {
		text = text[:most] + "..."
	}
	return fmt.Sprintf("%+q", text)
}
