package group

import (
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// A field that is added, and that may have a percentage, is a row of HasPercentages, and a column of the command in docs/upgrade.md.
func TestEachFieldThatMayHaveAPercentageIsLookedAt(t *testing.T) {
	fields := 0
	var visit func(of reflect.Type, index []int)
	visit = func(of reflect.Type, index []int) {
		for i := range of.NumField() {
			field, at := of.Field(i), slices.Concat(index, []int{i})
			switch inner := field.Type; {
			case inner == reflect.TypeFor[*intstr.IntOrString]():
				fields++
				for n, want := range map[intstr.IntOrString]bool{intstr.FromString("25%"): true, intstr.FromInt32(25): false} {
					if got := HasPercentages(specWith(at, n)); got != want {
						t.Errorf("%s %s: %v", field.Name, n.String(), got)
					}
				}
			case inner.Kind() == reflect.Pointer && inner.Elem().Kind() == reflect.Struct:
				visit(inner.Elem(), at)
			}
		}
	}
	visit(reflect.TypeFor[v1alpha1.VmGroupSpec](), nil)
	if fields != 3 || HasPercentages(&v1alpha1.VmGroupSpec{}) {
		t.Errorf("%d fields may have a percentage", fields)
	}
}

// specWith sets one field of a spec.
func specWith(index []int, n intstr.IntOrString) *v1alpha1.VmGroupSpec {
	spec := &v1alpha1.VmGroupSpec{}
	value := reflect.ValueOf(spec).Elem()
	for _, i := range index[:len(index)-1] {
		value = value.Field(i)
		value.Set(reflect.New(value.Type().Elem()))
		value = value.Elem()
	}
	value.Field(index[len(index)-1]).Set(reflect.ValueOf(&n))
	return spec
}
