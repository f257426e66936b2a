package member

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// mostManager is how long the name of a field manager may be in Kubernetes.
const mostManager = 128

// keepSpecManagers strips what caches need not hold of an object. Of a VmGroup's managed fields it keeps who changed spec last, and after that who set
// spec.replicas, if that is another; not what else they set: the audit of destroyed VMs names them. Kubernetes writes no time for who scales through
// the subresource, but who changes a field is its only owner. An object that was stripped before is not written to: others may be reading it
// (kubernetes/kubernetes#124337).
func keepSpecManagers() toolscache.TransformFunc {
	strip := cache.TransformStripManagedFields()
	return func(object any) (any, error) {
		group, is := object.(*v1alpha1.VmGroup)
		if !is {
			return strip(object)
		}
		fields := group.ManagedFields
		if len(fields) <= 2 && !slices.ContainsFunc(fields, func(m metav1.ManagedFieldsEntry) bool { return m.FieldsV1 != nil }) {
			return group, nil
		}
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
		group.ManagedFields = nil
		if last != nil {
			group.ManagedFields = append(group.ManagedFields, withoutFields(last))
		}
		if scaled != nil && scaled != last {
			group.ManagedFields = append(group.ManagedFields, withoutFields(scaled))
		}
		return group, nil
	}
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
	return metav1.ManagedFieldsEntry{Manager: m.Manager[:min(len(m.Manager), mostManager)], Operation: m.Operation, Time: m.Time}
}
