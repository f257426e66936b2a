package enroll

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/crds"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// mostSkew is the difference of clocks above which tokens look as if they were not valid yet, or expired.
const mostSkew = 5 * time.Minute

// OldestKubernetes is the first Kubernetes version whose API servers can enforce policies in a member.
var OldestKubernetes = utilversion.MustParseGeneric("1.34.0")

// Preflight checks that a cluster can become a member of a hub. It writes nothing.
func Preflight(ctx context.Context, member *cluster.Cluster, hubFacts, memberFacts cluster.Facts) error {
	if memberFacts.UID == hubFacts.UID {
		return cluster.Usage("Context %q is the hub itself. The hub is the MemberCluster named local: set localMember.enabled in the chart.", member.Context)
	}
	if skew := (memberFacts.Clock - hubFacts.Clock).Abs(); skew > mostSkew {
		return cluster.Usage("The clocks of the member and the hub differ by %s. Correct the time of the machines: otherwise tokens seem to be expired, or not valid yet.", skew.Round(time.Second))
	}
	if err := Unclaimed(ctx, member, hubFacts.UID); err != nil {
		return err
	}
	return fit(ctx, member, memberFacts)
}

// fit checks what does not depend on the hub.
func fit(ctx context.Context, member *cluster.Cluster, facts cluster.Facts) error {
	if v, err := utilversion.ParseGeneric(facts.Version); err == nil && v.LessThan(OldestKubernetes) {
		return cluster.Usage("The member runs Kubernetes %s. The operator needs %s or newer: upgrade the member first.", facts.Version, OldestKubernetes)
	}
	for _, check := range []func(context.Context, *cluster.Cluster) error{ownCRD, livingNamespace, mayRequestTokens} {
		if err := check(ctx, member); err != nil {
			return err
		}
	}
	return nil
}

// Unclaimed checks that no other installation than that of the hub serves the member.
func Unclaimed(ctx context.Context, member *cluster.Cluster, installation string) error {
	claim, err := claimOf(ctx, member)
	if err != nil || claim == nil || claim.Data[install.ClaimInstallationKey] == installation {
		return err
	}
	return cluster.Usage("Installation %s of hub %s serves this member. Delete its MemberCluster on that hub first. If that hub is lost, see docs/runbooks/disaster-recovery.md.",
		untrusted.Quoted(claim.Data[install.ClaimInstallationKey]), untrusted.Quoted(claim.Data[install.ClaimHubKey]))
}

// claimOf returns the claim on the member, or nil.
func claimOf(ctx context.Context, member *cluster.Cluster) (*corev1.ConfigMap, error) {
	claim := &corev1.ConfigMap{}
	err := member.Get(ctx, types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: install.ClaimName}, claim)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return claim, cluster.Explain(member.Context, member.Config.Host, err)
}

// ownCRD checks that a CRD of VmGroups in the member is the operator's.
func ownCRD(ctx context.Context, member *cluster.Cluster) error {
	installed := &apiextensionsv1.CustomResourceDefinition{}
	err := member.Get(ctx, types.NamespacedName{Name: crd.VmGroupName}, installed)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return cluster.Explain(member.Context, member.Config.Host, err)
	case !installed.DeletionTimestamp.IsZero():
		return cluster.Usage("The CRD %s of the member is being deleted. See docs/runbooks/crd-deleted.md.", installed.Name)
	case crds.StandingOf(installed, crd.VmGroupCRD()) == crds.Foreign:
		return cluster.Usage("The member has a CRD %s of kind %s and scope %s, which is not the operator's. Remove it if it is not needed.",
			installed.Name, untrusted.Quoted(installed.Spec.Names.Kind), untrusted.Quoted(string(installed.Spec.Scope)))
	}
	return nil
}

// livingNamespace checks that the namespace of the identities is not being deleted.
func livingNamespace(ctx context.Context, member *cluster.Cluster) error {
	ns := &corev1.Namespace{}
	err := member.Get(ctx, types.NamespacedName{Name: namespace}, ns)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return cluster.Explain(member.Context, member.Config.Host, err)
	case !ns.DeletionTimestamp.IsZero():
		return cluster.Usage("The namespace %s of the member is being deleted. Wait until the deletion ends: kubectl --context %s wait --for=delete namespace/%s", namespace, member.Context, namespace)
	}
	return nil
}

// mayRequestTokens checks the one right that a dry run cannot show.
func mayRequestTokens(ctx context.Context, member *cluster.Cluster) error {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: "create", Resource: "serviceaccounts", Subresource: "token", Name: Bootstrap.account(),
		},
	}}
	if err := member.Create(ctx, review); err != nil {
		return cluster.Explain(member.Context, member.Config.Host, err)
	}
	if !review.Status.Allowed {
		return &cluster.Failure{Code: cluster.ExitUnreachable, Sentence: fmt.Sprintf(
			"The user of context %q may not create serviceaccounts/token in namespace %s. Ask an administrator of the member to run: kubectl vmgroup member prepare", member.Context, namespace)}
	}
	return nil
}
