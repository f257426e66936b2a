package member

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// mostManager is how long the name of a field manager may be in Kubernetes.
const mostManager = 128

// keepLastSpecManager strips what caches need not hold of an object. Of a VmGroup's managed fields it keeps who changed spec last, and not what: the
// audit of destroyed VMs names that. An object that was stripped before is not written to: others may be reading it (kubernetes/kubernetes#124337).
func keepLastSpecManager() toolscache.TransformFunc {
	strip := cache.TransformStripManagedFields()
	return func(object any) (any, error) {
		group, is := object.(*v1alpha1.VmGroup)
		if !is {
			return strip(object)
		}
		fields := group.ManagedFields
		if len(fields) == 0 || len(fields) == 1 && fields[0].FieldsV1 == nil {
			return group, nil
		}
		group.ManagedFields = nil
		var last metav1.ManagedFieldsEntry
		for _, m := range fields {
			if m.FieldsV1 != nil && strings.Contains(m.FieldsV1.GetRawString(), `"f:spec":`) && (group.ManagedFields == nil || last.Time.Before(m.Time)) {
				last = metav1.ManagedFieldsEntry{Manager: m.Manager[:min(len(m.Manager), mostManager)], Operation: m.Operation, Time: m.Time}
				group.ManagedFields = []metav1.ManagedFieldsEntry{last}
			}
		}
		return group, nil
	}
}
