package govmomi

import (
	"reflect"

	"github.com/vmware/govmomi/vim25/types"
)

// copyDevice returns a shallow copy of a device, of the same concrete type.
func copyDevice(d types.BaseVirtualDevice) types.BaseVirtualDevice {
	v := reflect.ValueOf(d).Elem()
	out := reflect.New(v.Type())
	out.Elem().Set(v)
	return out.Interface().(types.BaseVirtualDevice)
}
