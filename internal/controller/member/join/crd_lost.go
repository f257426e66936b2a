package join

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/crds"
)

// DoubtCRD has the health check verify the CRD soon; it never blocks.
func (j *Joiner) DoubtCRD() {
	j.crdDoubted.Store(true)
	j.link.Wake()
}

// Definition reads the metadata of the VmGroup CRD, or nil if there is none. If the CRD is being deleted or missing, status reports that
// soon.
func (j *Joiner) Definition(ctx context.Context, apis remote.APIs) (metav1.Object, error) {
	found, err := install.CRDMetadata(ctx, apis.Runtime, crd.VmGroupName)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		j.DoubtCRD()
		return nil, nil
	case !found.DeletionTimestamp.IsZero():
		j.DoubtCRD()
	}
	return found, nil
}

// WatchDeletions records when a group is deleted: the deletion of the CRD can be the reason, and no watch reports that.
func (j *Joiner) WatchDeletions(ctx context.Context, cl cluster.Cluster) error {
	informer, err := cl.GetCache().GetInformer(ctx, &v1alpha1.VmGroup{})
	if err != nil {
		return fmt.Errorf("watch the member's VmGroups: %w", err)
	}
	note := func(object any) {
		if group, ok := object.(*v1alpha1.VmGroup); ok && !group.DeletionTimestamp.IsZero() {
			j.deletionSeen.Store(true)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: note, UpdateFunc: func(_, now any) { note(now) },
	})
	return err
}

// lostCRD checks whether the CRD was deleted or is being deleted, and reports that in status. It changes nothing: the audit that
// follows installs it again.
func (j *Joiner) lostCRD(ctx context.Context, apis remote.APIs) bool {
	ctx, cancel := context.WithTimeout(ctx, j.options.Timings.Request)
	defer cancel()
	// An API server that is starting can give this answer, too.
	installed, err := crds.Get(ctx, apis.Bootstrap.Client, crd.VmGroupName)
	if err != nil {
		j.log.Error(err, "A watch found no VmGroups, and the CRD cannot be checked")
		return false
	}
	if installed != nil {
		if !installed.DeletionTimestamp.IsZero() {
			finding := install.Terminating(crd.VmGroupName, installed)
			j.note(finding, j.version)
		}
		return false
	}
	j.log.Info("The CRD was deleted in the member", "crd", crd.VmGroupName)
	what := "It is installed again."
	if j.of.Manage == v1alpha1.ManageNone {
		what = "spec.manage is None: apply the output of `manager render`."
	}
	message := fmt.Sprintf("The CRD %s was deleted in the member. No VmGroup is served until it exists again. %s "+
		"VMs are kept: VmGroups that were deleted with the CRD and are in storage still are held, and condition %s has the commands that decide about them.",
		crd.VmGroupName, what, v1alpha1.ConditionCRDDeletion)
	j.note(install.Finding{OK: false, Reason: v1alpha1.ReasonCRDMissing, Message: message}, "")
	return true
}
