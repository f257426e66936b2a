package install

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/crds"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// FieldManager names the operator in managedFields of the objects that it installs.
const FieldManager = crds.FieldManager

// decideCRD compares the installed CRD (nil if there is none) with the wanted one. It returns the condition CRDInstalled as it
// reads after [crds.Install], and whether to call [crds.Install]. If the finding is not OK, the member cannot be served with
// this CRD.
func decideCRD(installed, wanted *apiextensionsv1.CustomResourceDefinition, manage v1alpha1.Manage) (finding Finding, install bool) {
	have, want, standing := crds.VersionOf(installed), crds.VersionOf(wanted), crds.StandingOf(installed, wanted)
	managed := manage != v1alpha1.ManageNone
	switch {
	case standing == crds.Missing && managed:
		return Finding{true, v1alpha1.ReasonCRDInstalled, "The CRD was installed."}, true
	case standing == crds.Missing:
		return Finding{false, v1alpha1.ReasonCRDMissing, fmt.Sprintf(
			"The member has no CRD %s and spec.manage is None. Apply the output of `manager render`.", wanted.Name)}, false
	case !installed.DeletionTimestamp.IsZero():
		return Terminating(wanted.Name, installed), false
	case standing == crds.Foreign:
		return Finding{false, v1alpha1.ReasonCRDForeign, fmt.Sprintf(
			"The member's CRD %s is of kind %q and scope %q, which is not this operator's. Remove it if it is not needed.",
			wanted.Name, installed.Spec.Names.Kind, installed.Spec.Scope)}, false
	case !managed && !crds.IsServed(installed):
		return Finding{false, v1alpha1.ReasonCRDMissing, fmt.Sprintf(
			"The member's CRD %s does not serve %s and spec.manage is None. Apply the output of `manager render`.",
			wanted.Name, v1alpha1.GroupVersion.Version)}, false
	case !managed:
		return Finding{true, v1alpha1.ReasonCRDInstalled, "The CRD is installed; spec.manage is None."}, false
	case standing == crds.Newer:
		return Finding{true, v1alpha1.ReasonCRDNewer, fmt.Sprintf(
			"The member has version %d of the CRD, newer than this operator's %d, and keeps it. Upgrade this hub.", have, want)}, false
	case standing == crds.NewerUnusable:
		return Finding{false, v1alpha1.ReasonCRDNewer, fmt.Sprintf(
			"The member has version %d of the CRD, newer than this operator's %d, which no longer serves %s. Upgrade this hub.",
			have, want, v1alpha1.GroupVersion.Version)}, false
	case standing == crds.Current:
		return Finding{true, v1alpha1.ReasonCRDInstalled, "The CRD is up to date."}, false
	}
	return Finding{true, v1alpha1.ReasonCRDInstalled, "The CRD was upgraded."}, true
}

// Terminating is the finding of a member whose CRD of that name is being deleted.
func Terminating(name string, installed metav1.Object) Finding {
	return Finding{false, v1alpha1.ReasonCRDTerminating, terminating(name, installed)}
}

func terminating(name string, installed metav1.Object) string {
	if v1alpha1.DeletionConfirmed(installed) {
		return fmt.Sprintf("The CRD %s of the member is being deleted, and that was confirmed: its objects go with it, and the VMs of VmGroups. "+
			"The operator then installs it again.", name)
	}
	// Users copy the command into a shell: its only text of the member must be characters that a UID can have.
	how := fmt.Sprintf("the annotation %s, whose value is the CRD's UID", v1alpha1.ConfirmDeletionAnnotation)
	if uid := string(installed.GetUID()); remote.IsPlainUID(uid) {
		how = fmt.Sprintf("kubectl annotate crd %s --overwrite %s=%s", name, v1alpha1.ConfirmDeletionAnnotation, uid)
	}
	return fmt.Sprintf("The CRD %s of the member is being deleted, which was not confirmed. Its API server deletes all objects of the kind, and nothing new can be made. "+
		"VMs are kept until that is confirmed in the member: for all of them by %s, for those of one VmGroup as its "+
		"condition Ready says. After its deletion the operator installs the CRD again, and VmGroups that are in storage still keep their VMs until you decide about each.", name, how)
}

// CRDResult is the state of a member's CRD after [EnsureCRD].
type CRDResult struct {
	Finding Finding
	// Version for status: that of the installed CRD, "unversioned" for the original's, "" if there is none.
	Version string
}

// EnsureCRD installs or upgrades the member's CRD according to [decideCRD] and waits until it is served, for establish at most. A
// refusal of the member's API server is a finding (CRDFailed); any error is one of reaching the member, or [remote.ErrNotLeading]. A
// replica that does not lead leaves upgrades to the leader. It works with the old CRD if that serves the version that it needs, as
// in members whose CRD is managed manually. It does not work with the CRD of the original operator, which has no version and would
// drop most of a group's status.
func EnsureCRD(ctx context.Context, member client.Client, wanted *apiextensionsv1.CustomResourceDefinition,
	manage v1alpha1.Manage, establish time.Duration,
) (CRDResult, error) {
	installed, err := crds.Get(ctx, member, wanted.Name)
	if err != nil {
		return CRDResult{}, err
	}
	finding, install := decideCRD(installed, wanted, manage)
	if !finding.OK {
		return CRDResult{finding, versionText(installed)}, nil
	}
	if install {
		err = crds.Install(ctx, member, installed, wanted)
	}
	if apierrors.IsInvalid(err) {
		return CRDResult{Finding{false, v1alpha1.ReasonCRDFailed, fmt.Sprintf(
			"The member's API server refuses the CRD %s: %s", wanted.Name, untrusted.Text(err.Error(), 500))}, versionText(installed)}, nil
	}
	if errors.Is(err, remote.ErrNotLeading) && crds.VersionOf(installed) > 0 && crds.IsServed(installed) {
		finding.Message, err = "The CRD is installed; its upgrade is due.", nil
	}
	if err != nil {
		return CRDResult{}, fmt.Errorf("install the CRD: %w", err)
	}
	installed, err = awaitEstablished(ctx, member, wanted.Name, establish)
	if err != nil {
		return CRDResult{}, err
	}
	if installed == nil {
		return CRDResult{Finding{false, v1alpha1.ReasonCRDFailed, fmt.Sprintf(
			"The member does not establish the CRD %s. See its conditions with kubectl describe crd.", wanted.Name)}, ""}, nil
	}
	return CRDResult{finding, versionText(installed)}, nil
}

// awaitEstablished returns the CRD once it is served, or nil if that takes too long.
func awaitEstablished(ctx context.Context, member client.Reader, name string, patience time.Duration,
) (*apiextensionsv1.CustomResourceDefinition, error) {
	var installed *apiextensionsv1.CustomResourceDefinition
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		current, err := crds.Get(ctx, member, name)
		if err != nil {
			return false, err
		}
		if current == nil || !crds.IsEstablished(current) {
			return false, nil
		}
		installed = current
		return true, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return nil, nil
	}
	return installed, err
}

// versionText is the version for status: the annotation's number, or "unversioned".
func versionText(definition *apiextensionsv1.CustomResourceDefinition) string {
	if definition == nil {
		return ""
	}
	if version := crds.VersionOf(definition); version > 0 {
		return strconv.Itoa(version)
	}
	return "unversioned"
}
