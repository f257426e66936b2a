package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// largeExponent finds a number whose exponent has four digits or more. Kubernetes' quantities compute a power of ten of it when they are decoded:
// 1234567890123456789e30000000 took 7.5 s of a processor and 94 MiB, and larger ones take all memory. It is the whole of a value: what is a part of a name
// or of a checksum is no number.
var largeExponent = regexp.MustCompile(`["\s:,\[][+-]?[0-9.]+[eE][+-]?[0-9]{4,}["\s,\]}]`)

var errExponent = errors.New("a number has an exponent of more than three digits; write it with a smaller one")

// smallExponents answers reviews of objects that hold quantities: one with a large exponent is not decoded.
type smallExponents struct{ admission.Handler }

// Handle implements admission.Handler.
func (s smallExponents) Handle(ctx context.Context, req admission.Request) admission.Response {
	if hasLargeExponent(req.Object.Raw) || hasLargeExponent(req.OldObject.Raw) {
		return admission.Errored(http.StatusBadRequest, errExponent)
	}
	return s.Handler.Handle(ctx, req)
}

// hasLargeExponent looks through all fields of an object but its metadata. That has no quantities, and a label may be the short hash of a commit: 12e4567. It
// goes by each field as it comes, since decoders decode one that is there twice. What is no JSON is left to them: they find that before they decode anything.
func hasLargeExponent(object []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.Token(); err != nil {
		return false
	}
	for decoder.More() {
		var value json.RawMessage
		key, err := decoder.Token()
		if err != nil || decoder.Decode(&value) != nil {
			return false
		}
		if key != "metadata" && largeExponent.Match(value) {
			return true
		}
	}
	return false
}
