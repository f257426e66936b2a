package effect

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// statusPatch is a JSON patch (RFC 6902) of the status of a group. Of VMs and conditions it has the elements that changed, while a merge patch has the
// whole lists. It names the version of the group that it was computed from, so the API server refuses it after another write: as a conflict, or as
// invalid if an element is no longer there.
type statusPatch struct{ from *v1alpha1.VmGroup }

// Type implements client.Patch.
func (statusPatch) Type() types.PatchType { return types.JSONPatchType }

// Data implements client.Patch. The object is the group with its next status.
func (p statusPatch) Data(object client.Object) ([]byte, error) {
	next, ok := object.(*v1alpha1.VmGroup)
	if !ok {
		return nil, fmt.Errorf("the status of a %T is no status of a VmGroup", object)
	}
	ops := []jsonpatch.Operation{jsonpatch.NewOperation("replace", "/metadata/resourceVersion", p.from.ResourceVersion)}
	fields, err := fieldOperations(p.from.Status, next.Status)
	if err != nil {
		return nil, err
	}
	ops = append(ops, fields...)
	ops = append(ops, listOperations("/status/conditions", "type", func(c metav1.Condition) string { return c.Type }, p.from.Status.Conditions, next.Status.Conditions)...)
	ops = append(ops, listOperations("/status/vms", "name", func(vm v1alpha1.VMStatus) string { return vm.Name }, p.from.Status.VMs, next.Status.VMs)...)
	return json.Marshal(ops)
}

// fieldOperations returns the operations for all fields that listOperations does not handle. Operation "add" replaces a field that exists, and "replace"
// needs one.
func fieldOperations(old, next v1alpha1.VmGroupStatus) ([]jsonpatch.Operation, error) {
	before, err := fieldsOf(old)
	if err != nil {
		return nil, err
	}
	after, err := fieldsOf(next)
	if err != nil {
		return nil, err
	}
	var ops []jsonpatch.Operation
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if string(before[name]) != string(after[name]) {
			ops = append(ops, jsonpatch.NewOperation("add", "/status/"+name, after[name]))
		}
		delete(before, name)
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		ops = append(ops, jsonpatch.NewOperation("remove", "/status/"+name, nil))
	}
	return ops, nil
}

// fieldsOf returns the encoded fields of a status, without VMs and conditions.
func fieldsOf(status v1alpha1.VmGroupStatus) (fields map[string]json.RawMessage, err error) {
	status.VMs, status.Conditions = nil, nil
	encoded, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	return fields, json.Unmarshal(encoded, &fields)
}

// listOperations returns the operations for one list, whose elements have a key. It keeps what both lists have at their beginning and at their end. If most of
// the list changed, it replaces the list. Each element that changes or leaves is tested for its key: a version of a group is no proof of its content, because
// a restored API server counts its versions again.
func listOperations[T any](path, key string, keyOf func(T) string, old, next []T) (ops []jsonpatch.Operation) {
	same := func(was, is int) bool {
		a, b := &old[was], &next[is]
		return reflect.DeepEqual(a, b) || equality.Semantic.DeepEqual(a, b) // of equal elements, the first takes less time
	}
	both := min(len(old), len(next))
	begin, end := 0, 0
	for begin < both && same(begin, begin) {
		begin++
	}
	for end < both-begin && same(len(old)-1-end, len(next)-1-end) {
		end++
	}
	switch {
	case begin == len(old) && begin == len(next):
		return nil
	case len(next) == 0:
		return []jsonpatch.Operation{jsonpatch.NewOperation("remove", path, nil)}
	}
	at := func(i int) string { return path + "/" + strconv.Itoa(i) }
	test := func(i, was int) jsonpatch.Operation {
		return jsonpatch.NewOperation("test", at(i)+"/"+key, keyOf(old[was]))
	}
	changes := 0
	for i := begin; i < both-end; i++ {
		if !same(i, i) {
			ops = append(ops, test(i, i), jsonpatch.NewOperation("replace", at(i), &next[i]))
			changes++
		}
	}
	for i := both - end; i < len(old)-end; i++ {
		ops = append(ops, test(both-end, i), jsonpatch.NewOperation("remove", at(both-end), nil))
		changes++
	}
	for i := both - end; i < len(next)-end; i++ {
		ops = append(ops, jsonpatch.NewOperation("add", at(i), &next[i]))
		changes++
	}
	if len(old) == 0 || changes > len(next)/2 {
		return []jsonpatch.Operation{jsonpatch.NewOperation("add", path, next)}
	}
	return ops
}
