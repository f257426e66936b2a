package untrusted

import (
	"reflect"
	"time"
)

// MemorySize returns how many bytes of memory a value and its referents need, without the overhead of the allocator. It returns 0 for a nil pointer,
// and for a value that is not a pointer. Limits of kept values are bytes of memory, because a few bytes of JSON can become a kilobyte.
func MemorySize(object any) int64 {
	value := reflect.ValueOf(object)
	if value.Kind() != reflect.Pointer || value.IsNil() {
		return 0
	}
	return int64(value.Elem().Type().Size()) + beyond(value.Elem())
}

// mapOverhead is the memory of each map entry in addition to the entry itself.
const mapOverhead = 16

var timeType = reflect.TypeFor[time.Time]()

// beyond returns the memory that a value needs outside of itself.
func beyond(value reflect.Value) (size int64) {
	switch value.Kind() {
	case reflect.String:
		return int64(value.Len())
	case reflect.Pointer, reflect.Interface:
		if !value.IsNil() {
			return int64(value.Elem().Type().Size()) + beyond(value.Elem())
		}
	case reflect.Slice:
		size = int64(value.Cap()) * int64(value.Type().Elem().Size())
		if !isPlain(value.Type().Elem().Kind()) {
			for i := range value.Len() {
				size += beyond(value.Index(i))
			}
		}
	case reflect.Map:
		entry := int64(value.Type().Key().Size()+value.Type().Elem().Size()) + mapOverhead
		for items := value.MapRange(); items.Next(); {
			size += entry + beyond(items.Key()) + beyond(items.Value())
		}
	case reflect.Struct:
		if value.Type() == timeType {
			return 0 // its zone is shared
		}
		for i := range value.NumField() {
			size += beyond(value.Field(i))
		}
	}
	return size
}

func isPlain(kind reflect.Kind) bool { return kind >= reflect.Bool && kind <= reflect.Complex128 }
