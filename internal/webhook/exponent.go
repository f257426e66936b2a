package webhook

import (
	"context"
	"errors"
	"net/http"
	"regexp"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// largeExponent finds a number whose exponent has four digits or more. Kubernetes' quantities compute a power of ten of it when they are decoded:
// 1234567890123456789e30000000 took 7.5 s of a processor and 94 MiB, and larger ones take all memory. What begins within a name is no number.
var largeExponent = regexp.MustCompile(`[^0-9A-Za-z._/-][+-]?[0-9.]+[eE][+-]?[0-9]{4,}`)

var errExponent = errors.New("a number has an exponent of more than three digits; write it with a smaller one")

// smallExponents answers reviews of objects that hold quantities: one with a large exponent is not decoded.
type smallExponents struct{ admission.Handler }

// Handle implements admission.Handler.
func (s smallExponents) Handle(ctx context.Context, req admission.Request) admission.Response {
	if largeExponent.Match(req.Object.Raw) || largeExponent.Match(req.OldObject.Raw) {
		return admission.Errored(http.StatusBadRequest, errExponent)
	}
	return s.Handler.Handle(ctx, req)
}
