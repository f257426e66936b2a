package member

import (
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// mostManager is how long the name of a field manager may be in Kubernetes.
const mostManager = 128

// ours begins the names of annotations that mean something to the operator.
var ours = v1alpha1.GroupVersion.Group + "/"

// keepWhatIsRead strips what caches need not hold of an object: annotations of others, and managed fields. Of a VmGroup's managed fields it keeps
// who changed spec last, and not what: the audit of destroyed VMs names that. An object that was stripped before is not written to: others may be
// reading it (kubernetes/kubernetes#124337). Whoever writes an object back that comes from a cache must so patch what it changes, and not replace it.
func keepWhatIsRead(object any) (any, error) {
	o, is := object.(metav1.Object)
	if !is {
		return object, nil
	}
	if annotations := o.GetAnnotations(); hasOthers(annotations) {
		kept := maps.Clone(annotations)
		maps.DeleteFunc(kept, func(name, _ string) bool { return !strings.HasPrefix(name, ours) })
		o.SetAnnotations(kept)
	}
	fields := o.GetManagedFields()
	if len(fields) == 0 || len(fields) == 1 && fields[0].FieldsV1 == nil {
		return object, nil
	}
	var kept []metav1.ManagedFieldsEntry
	if _, is := object.(*v1alpha1.VmGroup); is {
		kept = lastSpecManager(fields)
	}
	o.SetManagedFields(kept)
	return object, nil
}

func hasOthers(annotations map[string]string) bool {
	for name := range annotations {
		if !strings.HasPrefix(name, ours) {
			return true
		}
	}
	return false
}

// lastSpecManager is who changed spec last, and when.
func lastSpecManager(fields []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var last *metav1.ManagedFieldsEntry
	for i := range fields {
		m := &fields[i]
		if m.FieldsV1 != nil && strings.Contains(m.FieldsV1.GetRawString(), `"f:spec":`) && (last == nil || last.Time.Before(m.Time)) {
			last = m
		}
	}
	if last == nil {
		return nil
	}
	// A part of a text holds all of it in memory.
	name := strings.Clone(last.Manager[:min(len(last.Manager), mostManager)])
	return []metav1.ManagedFieldsEntry{{Manager: name, Operation: last.Operation, Time: last.Time}}
}
