package enroll

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

// HasSecret reports whether the hub has the Secret of this package.
func (r *Registration) HasSecret(ctx context.Context) (bool, error) {
	err := r.Hub.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: r.secretName()}, &corev1.Secret{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, cluster.Explain(r.Hub.Context, r.Hub.Config.Host, err)
}

// Find reads the MemberCluster by its name alone. It returns nil if there is none.
func (r *Registration) Find(ctx context.Context) (*v1alpha1.MemberCluster, error) {
	mc := &v1alpha1.MemberCluster{}
	switch err := r.Hub.Get(ctx, types.NamespacedName{Name: r.Name}, mc); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, cluster.Explain(r.Hub.Context, r.Hub.Config.Host, err)
	}
	r.current = mc
	return mc, nil
}

// Leave deletes the MemberCluster, waits until the operator has left the member, and deletes the Secret of this package. It confirms the deletion,
// which the operator demands for a MemberCluster with VmGroups. A second call completes an interrupted one, also if the MemberCluster was deleted by
// then. Call Find before.
func (r *Registration) Leave(ctx context.Context, wait time.Duration, report Reporter) error {
	ours := r.current == nil || r.refersToSecret(r.current)
	if r.current != nil {
		if err := r.deleteMemberCluster(ctx); err != nil {
			return err
		}
		if err := r.gone(ctx, wait); err != nil {
			return err
		}
		report.Done("MemberCluster "+r.Name+" was deleted", "")
	}
	if !ours {
		report.Skipped("the Secrets with the credentials of the member stay", "Another tool made them: "+strings.Join(secretsOf(r.current), ", ")+" in namespace "+r.Namespace+". Delete them if nothing else uses them.")
		return nil
	}
	return r.deleteSecret(ctx, report)
}

// deleteMemberCluster confirms and deletes the MemberCluster that was read.
func (r *Registration) deleteMemberCluster(ctx context.Context) error {
	mc := r.current
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: v1alpha1.GroupVersion.Group, Verb: "delete", Resource: "memberclusters", Name: mc.Name},
	}}
	if err := r.Hub.Create(ctx, review); err != nil {
		return cluster.Explain(r.Hub.Context, r.Hub.Config.Host, err)
	}
	if !review.Status.Allowed { // a confirmation without the deletion would let a later accident pass
		return &cluster.Failure{Code: cluster.ExitUnreachable, Sentence: fmt.Sprintf("The user of context %q lacks a right: to delete MemberCluster %q.", r.Hub.Context, mc.Name)}
	}
	if !v1alpha1.DeletionConfirmed(mc) {
		before := mc.DeepCopy()
		metav1.SetMetaDataAnnotation(&mc.ObjectMeta, v1alpha1.ConfirmDeletionAnnotation, string(mc.UID))
		if err := r.Hub.Patch(ctx, mc, client.MergeFrom(before), client.FieldOwner(fieldManager)); err != nil {
			return cluster.Explain(r.Hub.Context, r.Hub.Config.Host, err)
		}
	}
	err := client.IgnoreNotFound(r.Hub.Delete(ctx, mc, client.Preconditions{UID: &mc.UID}))
	return cluster.Explain(r.Hub.Context, r.Hub.Config.Host, err)
}

// secretsOf names the Secrets of a MemberCluster.
func secretsOf(mc *v1alpha1.MemberCluster) (names []string) {
	for _, ref := range []*v1alpha1.KubeconfigReference{mc.Spec.KubeconfigSecretRef, mc.Spec.BootstrapKubeconfigSecretRef} {
		if ref != nil && !slices.Contains(names, ref.Name) {
			names = append(names, ref.Name)
		}
	}
	return names
}

// deleteSecret deletes the Secret of this package.
func (r *Registration) deleteSecret(ctx context.Context, report Reporter) error {
	secret := &corev1.Secret{}
	err := r.Hub.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: r.secretName()}, secret)
	if err == nil {
		err = r.Hub.Delete(ctx, secret, client.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion})
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return cluster.Explain(r.Hub.Context, r.Hub.Config.Host, err)
	}
	report.Done("Secret "+r.secretName()+" was deleted", "")
	return nil
}

// gone waits until the MemberCluster does not exist any more.
func (r *Registration) gone(ctx context.Context, wait time.Duration) error {
	ticker, late := time.NewTicker(interval), time.NewTimer(wait)
	defer ticker.Stop()
	defer late.Stop()
	mc, uid := &v1alpha1.MemberCluster{}, r.current.UID
	for {
		err := r.Hub.Get(ctx, types.NamespacedName{Name: r.Name}, mc)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return cluster.Explain(r.Hub.Context, r.Hub.Config.Host, err)
		case mc.UID != uid:
			return cluster.Usage("MemberCluster %q was deleted, and created again by another user or tool. The command leaves that one, and its Secret, alone.", r.Name)
		}
		select {
		case <-ctx.Done():
			return cluster.Explain(r.Hub.Context, r.Hub.Config.Host, ctx.Err())
		case <-late.C:
			return &cluster.Failure{Code: cluster.ExitNotWell, Sentence: fmt.Sprintf(
				"The operator has not left the member yet. It continues, if it runs. Then run the same command again, which removes the rest. The state: kubectl describe membercluster %s", r.Name)}
		case <-ticker.C:
		}
	}
}

// Clear removes what [Preparation.Objects] creates from a member, and the roles for user data, which users apply. It refuses while an installation
// claims the member.
func Clear(ctx context.Context, member *cluster.Cluster, report Reporter) error {
	switch claim, err := claimOf(ctx, member); {
	case err != nil:
		return err
	case claim != nil:
		return &cluster.Failure{Code: cluster.ExitNotWell, Sentence: "The operator could not remove everything from the member, whose claim is still there: its identities stay. " +
			"The output of `manager render --leave` removes the rest (docs/reference/membercluster.md)."}
	}
	objects, err := memberObjects()
	if err != nil {
		return err
	}
	all := make([]client.Object, 0, len(objects)+2)
	for _, object := range objects {
		all = append(all, object)
	}
	userData := metav1.ObjectMeta{Name: "vmgroup-operator-member-user-data"}
	all = append(all, &rbacv1.ClusterRole{ObjectMeta: userData}, &rbacv1.ClusterRoleBinding{ObjectMeta: userData})
	n := 0
	for _, object := range slices.Backward(all) {
		switch err := member.Delete(ctx, object); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("%s: %w", object.GetName(), cluster.Explain(member.Context, member.Config.Host, err))
		default:
			n++
		}
	}
	report.Done("the operator's identities and roles, and namespace "+namespace+", are removed from the member", fmt.Sprintf("%d objects", n))
	return nil
}
