package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// longestQuantity is how many bytes a quantity of a policy may have. What it costs to decode one grows with the square of its digits.
const longestQuantity = 64

// largeExponent is one of four digits or more. Kubernetes' quantities compute a power of ten of it when they are decoded: 1234567890123456789e30000000 took
// 7.5 s of a processor and 94 MiB, and larger ones take all memory.
var largeExponent = regexp.MustCompile(`[eE][+-]?[0-9]{4}`)

var errQuantity = errors.New("limits.memory and quota.memory are amounts such as 8Gi, of at most 64 characters and with exponents of at most three digits")

// cheap is a quantity that is looked at and not decoded.
type cheap struct{}

// UnmarshalJSON fails with errQuantity for what would cost much to decode.
func (cheap) UnmarshalJSON(text []byte) error {
	if len(text) > longestQuantity || largeExponent.Match(text) {
		return errQuantity
	}
	return nil
}

// quantities are where a policy has some. The decoder looks at each, also at those of a field that is there twice, and at more than Kubernetes' decoder: it does not
// tell upper from lower case.
type quantities struct {
	Spec struct {
		Limits struct {
			Memory struct {
				Min cheap `json:"min"`
				Max cheap `json:"max"`
			} `json:"memory"`
		} `json:"limits"`
		Quota struct {
			Memory cheap `json:"memory"`
		} `json:"quota"`
	} `json:"spec"`
}

// cheapQuantities answers reviews of policies: one with a quantity that would cost much is not decoded.
type cheapQuantities struct{ admission.Handler }

// Handle implements admission.Handler.
func (c cheapQuantities) Handle(ctx context.Context, req admission.Request) admission.Response {
	for _, object := range [][]byte{req.Object.Raw, req.OldObject.Raw} {
		// Other errors are the decoder's to tell.
		if err := json.Unmarshal(object, &quantities{}); errors.Is(err, errQuantity) {
			return admission.Errored(http.StatusBadRequest, errQuantity)
		}
	}
	return c.Handler.Handle(ctx, req)
}
