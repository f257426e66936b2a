package group

import (
	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// listed returns the recorded VMs that leave first.
func listed(status *v1alpha1.VmGroupStatus) []plan.Listed {
	all := make([]plan.Listed, 0, len(status.DeleteFirst))
	for _, l := range status.DeleteFirst {
		all = append(all, plan.Listed{Name: l.Name, MoRef: l.MoRef})
	}
	return all
}

func listedStatuses(all []plan.Listed) []v1alpha1.ListedVM {
	if len(all) == 0 {
		return nil
	}
	out := make([]v1alpha1.ListedVM, 0, len(all))
	for _, l := range all {
		out = append(out, v1alpha1.ListedVM{Name: l.Name, MoRef: l.MoRef})
	}
	return out
}
