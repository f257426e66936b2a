package caches

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// mostManager is how long the name of a field manager may be in Kubernetes.
const mostManager = 128

// ours begins the names of annotations that mean something to the operator.
var ours = v1alpha1.GroupVersion.Group + "/"

// Strip strips what caches need not hold of an object: annotations of others, and managed fields. Of a VmGroup's managed fields it keeps
// those of specManagers; not what they set: the audit of destroyed VMs names them. An object that was stripped before is not written to: others may be
// reading it (kubernetes/kubernetes#124337). Whoever writes an object back that comes from a cache must so patch what it changes, and not replace it.
func Strip(object any) {
	o, is := object.(metav1.Object)
	if !is {
		return
	}
	if annotations := o.GetAnnotations(); hasOthers(annotations) {
		kept := maps.Clone(annotations)
		maps.DeleteFunc(kept, func(name, _ string) bool { return !strings.HasPrefix(name, ours) })
		o.SetAnnotations(kept)
	}
	fields := o.GetManagedFields()
	if !slices.ContainsFunc(fields, func(m metav1.ManagedFieldsEntry) bool { return m.FieldsV1 != nil }) && len(fields) <= 2 {
		return
	}
	var kept []metav1.ManagedFieldsEntry
	if _, is := object.(*v1alpha1.VmGroup); is {
		kept = specManagers(fields)
	}
	o.SetManagedFields(kept)
}

func hasOthers(annotations map[string]string) bool {
	for name := range annotations {
		if !strings.HasPrefix(name, ours) {
			return true
		}
	}
	return false
}

// specManagers are two: who changed spec last, and who set spec.replicas. The second has no name where nobody owns that field. Kubernetes writes no time
// for who scales through the subresource, but who changes a field is its only owner. It does not write down who scales where nobody owned the field
// before, as after an apply that leaves it out.
func specManagers(fields []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var last, scaled *metav1.ManagedFieldsEntry
	for i := range fields {
		m := &fields[i]
		if m.FieldsV1 == nil || !strings.Contains(m.FieldsV1.GetRawString(), `"f:spec":`) {
			continue
		}
		if last == nil || last.Time == nil || last.Time.Before(m.Time) {
			last = m
		}
		// Who applies the number that is there becomes an owner, too, and has changed nothing.
		if setsReplicas(m) && (scaled == nil || m.Operation == metav1.ManagedFieldsOperationUpdate) {
			scaled = m
		}
	}
	if last == nil {
		return nil
	}
	kept := []metav1.ManagedFieldsEntry{withoutFields(last), {}}
	if scaled != nil {
		kept[1] = withoutFields(scaled)
	}
	return kept
}

func setsReplicas(m *metav1.ManagedFieldsEntry) bool {
	var set struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	// What cannot be read is no set of fields of an API server's.
	if raw := m.FieldsV1.GetRawString(); !strings.Contains(raw, `"f:replicas":`) || json.Unmarshal([]byte(raw), &set) != nil {
		return false
	}
	_, sets := set.Spec["f:replicas"]
	return sets
}

func withoutFields(m *metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	// A part of a text holds all of it in memory.
	name := strings.Clone(m.Manager[:min(len(m.Manager), mostManager)])
	return metav1.ManagedFieldsEntry{Manager: name, Operation: m.Operation, Time: m.Time}
}
