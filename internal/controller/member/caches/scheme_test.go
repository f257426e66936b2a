package caches

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// costly are types of which a short text can take any time and memory to decode: numbers with an exponent, and schemas within schemas.
var costly = map[reflect.Type]bool{reflect.TypeFor[resource.Quantity](): true, reflect.TypeFor[apiextensionsv1.JSONSchemaProps](): true}

// holds finds a costly type within another.
func holds(of reflect.Type, seen map[reflect.Type]bool) reflect.Type {
	if costly[of] {
		return of
	}
	if seen[of] {
		return nil
	}
	seen[of] = true
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return holds(of.Elem(), seen)
	case reflect.Map:
		if found := holds(of.Key(), seen); found != nil {
			return found
		}
		return holds(of.Elem(), seen)
	case reflect.Struct:
		for field := range of.Fields() {
			if found := holds(field.Type, seen); found != nil {
				return found
			}
		}
	}
	return nil
}

// TestAMembersServerHasNothingDecodedThatCostsMuch: the server sets the kind of an answer. All kinds of a client's scheme are
// decoded before the client detects that it requested another one.
func TestAMembersServerHasNothingDecodedThatCostsMuch(t *testing.T) {
	if holds(reflect.TypeFor[corev1.Pod](), map[reflect.Type]bool{}) == nil {
		t.Fatal("a Pod has quantities, and none is found")
	}
	for name, scheme := range map[string]*runtime.Scheme{"of joining": remote.NewScheme(), "of serving": NewScheme()} {
		for kind, of := range scheme.AllKnownTypes() {
			if found := holds(of, map[reflect.Type]bool{}); found != nil {
				t.Errorf("the scheme %s has %s, and in it a %s", name, kind, found)
			}
		}
		pod := []byte(`{"apiVersion":"v1","kind":"Pod","spec":{"overhead":{"cpu":"1234567890123456789e9999"}}}`)
		if _, _, err := serializer.NewCodecFactory(scheme).UniversalDeserializer().Decode(pod, nil, &corev1.Namespace{}); !runtime.IsNotRegisteredError(err) {
			t.Errorf("the scheme %s decodes a Pod: %v", name, err)
		}
	}
}
