package effect

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

const (
	// maxManager is the number of bytes that Kubernetes allows the name of a field manager.
	maxManager = 128
	// maxFields is the number of bytes up to which the fields of a manager are decoded. Each decoded field needs many times its
	// bytes. A manager of one annotation has a few hundred bytes, and one of a whole group some kilobytes.
	maxFields = 64 << 10
)

// Managers are the field managers of the spec of a group in a cache.
type Managers struct {
	// Spec changed the spec last, and Replicas the number of VMs. They are "" if the API server has recorded none.
	Spec, Replicas string
}

// ManagersOf reads the managed fields that the caches keep: first the one of spec, then the one of spec.replicas.
func ManagersOf(cached *v1alpha1.VmGroup) (m Managers) {
	if kept := cached.ManagedFields; len(kept) == 2 {
		m.Spec, m.Replicas = kept[0].Manager, kept[1].Manager
	}
	return m
}

// behind returns the likely requester of a removal, or "".
func (m Managers) behind(cause plan.RemovalCause) string {
	if cause == plan.RemovedByScaleDown {
		return m.Replicas
	}
	return m.Spec
}

// annotatedBy returns the field manager that set an annotation last, or "" if the API server does not show it. It cuts a name
// that is longer than such names are.
func annotatedBy(live *v1alpha1.VmGroup, annotation string) (manager string) {
	var last metav1.Time
	for _, entry := range live.ManagedFields {
		if entry.FieldsV1 == nil || len(entry.FieldsV1.GetRawString()) > maxFields {
			continue
		}
		var fields struct {
			Metadata struct {
				Annotations map[string]json.RawMessage `json:"f:annotations"`
			} `json:"f:metadata"`
		}
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			continue
		}
		if _, sets := fields.Metadata.Annotations["f:"+annotation]; sets && (manager == "" || entry.Time != nil && last.Before(entry.Time)) {
			manager = entry.Manager
			if entry.Time != nil {
				last = *entry.Time
			}
		}
	}
	return untrusted.Text(manager, maxManager)
}
