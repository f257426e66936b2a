//go:build unix

package hostileapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
)

// Object is an object of the API as JSON decodes it, with numbers as json.Number.
type Object = map[string]any

// ObjectOf returns the JSON form of a Go value. It panics if that is no object, because tests supply the value.
func ObjectOf(value any) Object {
	o, err := decode(encode(value))
	if err != nil {
		panic(fmt.Sprintf("%T is no object of the API: %v", value, err))
	}
	return o
}

// Set sets a field of an object, and creates the objects on its path.
func Set(o Object, value any, path ...string) {
	for _, name := range path[:len(path)-1] {
		inner, ok := o[name].(Object)
		if !ok {
			inner = Object{}
			o[name] = inner
		}
		o = inner
	}
	o[path[len(path)-1]] = value
}

// Text returns a string field of an object, or "".
func Text(o Object, path ...string) string {
	for _, name := range path[:len(path)-1] {
		o, _ = o[name].(Object)
	}
	text, _ := o[path[len(path)-1]].(string)
	return text
}

func decode(body []byte) (Object, error) {
	var o Object
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	err := decoder.Decode(&o)
	if err == nil && o == nil {
		err = errors.New("it is null")
	}
	return o, err
}

func encode(value any) []byte {
	body, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("%T is no JSON: %v", value, err))
	}
	return body
}

func version(o Object) string { return Text(o, "metadata", "resourceVersion") }

// next returns the resource version after another one.
func next(version string) string {
	n, ok := new(big.Int).SetString(version, 10)
	if !ok {
		return version + "1"
	}
	return n.Add(n, big.NewInt(1)).String()
}

// merge applies a merge patch: RFC 7386.
func merge(into, patch Object) {
	for name, value := range patch {
		inner, isObject := value.(Object)
		switch {
		case isObject:
			was, ok := into[name].(Object)
			if !ok {
				was = Object{}
			}
			merge(was, inner)
			into[name] = was
		case value == nil:
			delete(into, name)
		default:
			into[name] = value
		}
	}
}
