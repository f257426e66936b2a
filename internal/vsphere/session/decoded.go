package session

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

// typesByName finds a type by its name in an answer.
type typesByName types.Func

// fields are the types of a struct's elements by name. others is the type of all other elements, if there is one.
type fields struct {
	named  map[string]reflect.Type
	others reflect.Type
}

// fieldsOf caches the fields of each decoded struct, at most as many as govmomi has types.
var fieldsOf sync.Map // reflect.Type → fields

// child returns the type for decoding an element of a struct, and its weight. For elements that the decoder skips, and for values without elements, the type is
// nil.
func (known typesByName) child(parent reflect.Type, name, typeName []byte) (t reflect.Type, weight int64) {
	f := describe(parent)
	t, ok := f.named[string(name)]
	if !ok {
		t = f.others
	}
	if t == nil {
		return nil, 0
	}
	weight = int64(t.Size())
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
		weight += int64(t.Size())
	}
	if t.Kind() == reflect.Interface {
		t = known.dynamic(t, typeName)
		if t == nil {
			return nil, weight
		}
		weight += int64(t.Size())
	}
	if t.Kind() != reflect.Struct {
		return nil, weight
	}
	return t, weight
}

// dynamic returns the type of a value in an interface, from its attribute or else from the interface's name. Basic types have no elements and little weight.
func (known typesByName) dynamic(iface reflect.Type, typeName []byte) reflect.Type {
	if typeName == nil {
		typeName = []byte(iface.Name())
	}
	if t, ok := known(string(bytes.TrimSpace(typeName))); ok {
		return t
	}
	return nil
}

// describe returns the fields of a struct according to govmomi's decoder.
func describe(t reflect.Type) fields {
	if f, ok := fieldsOf.Load(t); ok {
		return f.(fields) //nolint:forcetypeassert // nothing else is in it
	}
	out := fields{named: map[string]reflect.Type{}}
	for _, f := range reflect.VisibleFields(t) {
		tag, options, _ := strings.Cut(f.Tag.Get("xml"), ",")
		if _, name, ok := strings.Cut(tag, " "); ok {
			tag = name
		}
		all := strings.Split(options, ",")
		switch {
		case tag == "-" || f.Anonymous || !f.IsExported() || f.Name == "XMLName" || slices.Contains(all, "attr") || slices.Contains(all, "chardata"):
		case slices.Contains(all, "any"):
			out.others = f.Type
		case tag == "":
			out.named[f.Name] = f.Type
		default:
			out.named[tag] = f.Type
		}
	}
	fieldsOf.Store(t, out)
	return out
}
