package enroll

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

// Leave deletes the MemberCluster, waits until the operator has left the member, and deletes the Secret of this package. It confirms the deletion,
// which the operator demands for a MemberCluster with VmGroups. A second call completes an interrupted one.
func (r *Registration) Leave(ctx context.Context, mc *v1alpha1.MemberCluster, report Reporter) error {
	if !v1alpha1.DeletionConfirmed(mc) {
		before := mc.DeepCopy()
		metav1.SetMetaDataAnnotation(&mc.ObjectMeta, v1alpha1.ConfirmDeletionAnnotation, string(mc.UID))
		if err := r.Hub.Patch(ctx, mc, client.MergeFrom(before), client.FieldOwner(fieldManager)); err != nil {
			return cluster.Explain(r.Hub.Context, r.Hub.Config.Host, err)
		}
	}
	if err := r.Hub.Delete(ctx, mc, client.Preconditions{UID: &mc.UID}); client.IgnoreNotFound(err) != nil {
		return cluster.Explain(r.Hub.Context, r.Hub.Config.Host, err)
	}
	if err := r.gone(ctx, mc); err != nil {
		return err
	}
	report.Done("MemberCluster "+r.Name+" was deleted: the operator has left the member", "")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.secretName()}}
	switch err := r.Hub.Delete(ctx, secret); {
	case apierrors.IsNotFound(err):
	case err != nil:
		return cluster.Explain(r.Hub.Context, r.Hub.Config.Host, err)
	default:
		report.Done("Secret "+r.secretName()+" is deleted", "")
	}
	return nil
}

// gone waits until the MemberCluster does not exist any more.
func (r *Registration) gone(ctx context.Context, mc *v1alpha1.MemberCluster) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	uid := mc.UID
	for {
		err := r.Hub.Get(ctx, client.ObjectKeyFromObject(mc), mc)
		switch {
		case apierrors.IsNotFound(err), err == nil && mc.UID != uid:
			return nil
		case err != nil && ctx.Err() == nil:
			return cluster.Explain(r.Hub.Context, r.Hub.Config.Host, err)
		}
		select {
		case <-ctx.Done():
			return &cluster.Failure{Code: cluster.ExitNotWell, Sentence: fmt.Sprintf(
				"The operator has not left the member yet. It continues, if it runs. Look again with: kubectl describe membercluster %s", r.Name)}
		case <-ticker.C:
		}
	}
}

// Clear removes what [Preparation.Objects] creates from a member that no hub serves. The namespace goes last.
func Clear(ctx context.Context, member *cluster.Cluster, report Reporter) error {
	objects, err := memberObjects()
	if err != nil {
		return err
	}
	n := 0
	for _, object := range slices.Backward(objects) {
		switch err := member.Delete(ctx, object); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), cluster.Explain(member.Context, member.Config.Host, err))
		default:
			n++
		}
	}
	report.Done("the operator's identities are removed from the member", fmt.Sprintf("%d objects", n))
	return nil
}
