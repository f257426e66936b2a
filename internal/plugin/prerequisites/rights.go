package prerequisites

import (
	"context"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/codeconnect/vmgroup-operator/internal/term"
)

// created are the resources of an installation that only administrators can create, and one of each kind in the operator's namespace.
var created = []authorizationv1.ResourceAttributes{
	{Resource: "namespaces"},
	{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
	{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
	{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
	{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"},
	{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicybindings"},
	{Group: "flowcontrol.apiserver.k8s.io", Resource: "flowschemas"},
	{Resource: "secrets", Namespace: inside}, {Resource: "services", Namespace: inside}, {Resource: "serviceaccounts", Namespace: inside},
	{Group: "apps", Resource: "deployments", Namespace: inside},
	{Group: "policy", Resource: "poddisruptionbudgets", Namespace: inside},
	{Group: "rbac.authorization.k8s.io", Resource: "roles", Namespace: inside},
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings", Namespace: inside},
}

// inside stands for the namespace of the operator.
const inside = "*"

// rights asks the API server what the user may do. It refuses a ClusterRole with rights that its author neither has nor may escalate to.
func (c *checker) rights(ctx context.Context) error {
	var refused []string
	for _, attributes := range created {
		if attributes.Namespace == inside {
			attributes.Namespace = c.namespace
		}
		attributes.Verb = "create"
		switch allowed, err := c.may(ctx, attributes); {
		case err != nil:
			return err
		case !allowed:
			refused = append(refused, attributes.Resource)
		}
	}
	if len(refused) > 0 {
		c.add(term.Bad, "you may not create "+strings.Join(refused, ", "), "an administrator of the cluster can install the operator")
		return nil
	}
	for _, verb := range []string{"escalate", "bind"} {
		switch allowed, err := c.may(ctx, authorizationv1.ResourceAttributes{Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Verb: verb}); {
		case err != nil:
			return err
		case !allowed:
			c.add(term.Warn, "you may not "+verb+" ClusterRoles", "the API server refuses the operator's roles unless you have all of their rights")
			return nil
		}
	}
	c.add(term.OK, "you may create what the operator needs", "")
	return nil
}

func (c *checker) may(ctx context.Context, attributes authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes}}
	err := c.hub.Create(ctx, review)
	return review.Status.Allowed, err
}
