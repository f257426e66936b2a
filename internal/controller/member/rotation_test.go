//go:build unix

package member

import (
	"sync"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
)

// renderedAdmission renders the operator's real objects, without a webhook.
type renderedAdmission struct {
	changed func()

	mu      sync.Mutex
	summary string
}

// summarize changes all later renderings.
func (r *renderedAdmission) summarize(summary string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary = summary
}

func (r *renderedAdmission) tells(changed func()) { r.changed = changed }

func (r *renderedAdmission) CABundleHash(install.Target) string { return "" }

func (r *renderedAdmission) Objects(target install.Target) (install.Bundle, error) {
	result := install.Bundle{}
	for _, known := range objects.Known() {
		result.Known = append(result.Known, install.Object{GroupVersionKind: known.GroupVersionKind, Name: known.Name})
	}
	if target.Leaving {
		return result, nil
	}
	r.mu.Lock()
	summary := r.summary
	r.mu.Unlock()
	bundle, err := objects.Render(objects.Input{
		Limits: v1alpha1.VmGroupLimitsSpec{Member: target.Name, Summary: summary}, Member: target.Name,
		FailurePolicy: target.FailurePolicy, Exempt: target.Exempt, ServesMutatingPolicies: target.ServesMutatingPolicies,
	})
	result.Objects, result.CABundleHash, result.NoWebhook = bundle.Objects, bundle.CABundleHash, bundle.NoWebhook
	return result, err
}
