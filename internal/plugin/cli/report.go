package cli

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
)

// namespaceReport is what --output prints of a namespace. The API serves no such kind.
type namespaceReport struct {
	metav1.TypeMeta `json:",inline"`
	Namespace       string          `json:"namespace"`
	Quotas          []inquiry.Quota `json:"quotas,omitempty"`
	VCenters        []vcenterReport `json:"vcenters,omitempty"`
}

// vcenterReport has the templates of a VCenter. Unknown is why some are missing, or empty.
type vcenterReport struct {
	Name string `json:"name"`
	// Default is true for the VCenter of a VmGroup that names none.
	Default   bool               `json:"default,omitempty"`
	Templates []inquiry.Template `json:"templates,omitempty"`
	Unknown   string             `json:"unknown,omitempty"`
}

// print prints the report as --output asks for, or else a table.
func (r *namespaceReport) print(o *offers, table func() *metav1.Table, drop ...string) error {
	r.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NamespaceReport"}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r) // for the printers, which take objects of the API
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	return o.print(o.Options, &unstructured.Unstructured{Object: content}, table, drop...)
}
