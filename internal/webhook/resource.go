package webhook

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
)

var groupResource = metav1.GroupVersionResource{
	Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: "vmgroups",
}

// byResource passes a request to the validator of its resource: a webhook has one path for vmgroups and vmgroups/scale.
type byResource struct {
	groups, scale admission.Handler
}

// Handle answers a request about groups or their scale.
func (b byResource) Handle(ctx context.Context, req admission.Request) admission.Response {
	callOf(ctx).asks = asks(req, inquiry.Manager)
	switch {
	case req.Resource == groupResource && req.SubResource == "":
		return b.groups.Handle(ctx, req)
	case req.Resource == groupResource && req.SubResource == "scale":
		return b.scale.Handle(ctx, req)
	}
	return admission.Errored(http.StatusBadRequest, fmt.Errorf(
		"this webhook reviews vmgroups and vmgroups/scale of %s only: correct the rules of the webhook configuration", v1alpha1.GroupVersion))
}
