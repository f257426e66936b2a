package session

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

// typesByName finds a type by the name that an answer has for it.
type typesByName types.Func

// fields are the types of the elements of a struct, by their names. others is that of all others, if there is one.
type fields struct {
	named  map[string]reflect.Type
	others reflect.Type
}

// fieldsOf has the fields of each struct that was met: there are as many as govmomi has types at most.
var fieldsOf sync.Map // reflect.Type → fields

// child returns the type that an element of a struct is decoded into, and what that weighs; nil for what the decoder skips, and for values without elements.
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

// dynamic returns the type of a value in an interface: that of its attribute, or else that of the interface's name. Basic types have no elements, and weigh little.
func (known typesByName) dynamic(iface reflect.Type, typeName []byte) reflect.Type {
	if typeName == nil {
		typeName = []byte(iface.Name())
	}
	if t, ok := known(string(bytes.TrimSpace(typeName))); ok {
		return t
	}
	return nil
}

// describe returns the fields of a struct by the rules of govmomi's decoder.
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
