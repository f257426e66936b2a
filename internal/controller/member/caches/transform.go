package caches

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// mostManager is the maximum length of the name of a field manager in Kubernetes.
const mostManager = 128

// ours is the prefix of the annotations that the operator uses.
var ours = v1alpha1.GroupVersion.Group + "/"

// Strip removes the parts of an object that caches do not need: annotations of others, and managed fields. Of a VmGroup's managed fields it keeps the
// specManagers without their fields: the audit of destroyed VMs names them. It does not write to an object that was stripped before: others can be
// reading it (kubernetes/kubernetes#124337). A caller that writes a cached object back must therefore patch its changes, and not replace the object.
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

// specManagers returns two managers: the last one that changed spec, and the one that set spec.replicas. The second has no name if no manager owns that
// field. Kubernetes records no time for users who scale through the subresource, but a manager that changes a field is its only owner. Kubernetes
// records no such manager if the field had no owner before, as after an apply that omits it.
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
		// A manager that applies the current number becomes an owner, too, and has changed nothing.
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
	// A text that cannot be parsed is no field set of an API server.
	if raw := m.FieldsV1.GetRawString(); !strings.Contains(raw, `"f:replicas":`) || json.Unmarshal([]byte(raw), &set) != nil {
		return false
	}
	_, sets := set.Spec["f:replicas"]
	return sets
}

func withoutFields(m *metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	// A substring keeps the whole string in memory.
	name := strings.Clone(m.Manager[:min(len(m.Manager), mostManager)])
	return metav1.ManagedFieldsEntry{Manager: name, Operation: m.Operation, Time: m.Time}
}
