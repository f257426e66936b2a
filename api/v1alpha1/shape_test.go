package v1alpha1

import (
	"reflect"
	"testing"
)

// each calls f with a spec in which one field of the shape is set, and the name of the field.
func each(f func(name string, spec VmGroupSpec)) {
	for field := range reflect.TypeFor[VMShape]().Fields() {
		spec := VmGroupSpec{}
		value := reflect.ValueOf(&spec).Elem().FieldByName(field.Name)
		switch value.Kind() {
		case reflect.Pointer:
			value.Set(reflect.New(value.Type().Elem()))
			if first := value.Elem().Field(0); first.Kind() == reflect.Pointer {
				first.Set(reflect.New(first.Type().Elem()))
				first.Elem().Field(0).SetInt(3)
			} else {
				first.SetString("x")
			}
		case reflect.String:
			value.SetString("x")
		default:
			value.SetInt(3)
		}
		f(field.Name, spec)
	}
}

func TestAShapeHasAllItsFieldsFromSpecAndBack(t *testing.T) {
	each(func(name string, spec VmGroupSpec) {
		shape, back := spec.Shape(), VmGroupSpec{}
		back.SetShape(shape)
		if !reflect.DeepEqual(spec, back) {
			t.Errorf("%s: %+v became %+v", name, spec, back)
		}
		if !spec.HasShape(shape) || spec.HasShape(VMShape{}) {
			t.Errorf("%s is not compared", name)
		}
		if value := reflect.ValueOf(spec).FieldByName(name); value.Kind() == reflect.Pointer && value.Pointer() == reflect.ValueOf(back).FieldByName(name).Pointer() {
			t.Errorf("%s is shared", name)
		}
	})
}

func TestAnUnsetFieldOfAShapeEqualsItsDefault(t *testing.T) {
	spec := VmGroupSpec{CloneMode: CloneFull, Placement: &Placement{}, UserDataSecretRef: &LocalObjectReference{}, Disks: &Disks{Root: &RootDisk{}}}
	if !spec.HasShape(VMShape{}) {
		t.Error("defaults make another shape")
	}
}
