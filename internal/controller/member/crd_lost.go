package member

import (
	"context"
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// doubtCRD has the health check look at the CRD soon; it never blocks.
func (c *connection) doubtCRD() {
	c.crdDoubted.Store(true)
	c.wake()
}

// lostCRD looks whether the CRD is gone, and says so in status. It changes nothing: the audit that follows installs it again.
func (c *connection) lostCRD(apis remote.APIs) bool {
	ctx, cancel := context.WithTimeout(c.ctx, c.provider.opts.Timings.Request)
	defer cancel()
	wanted := c.provider.opts.VmGroupCRD()
	// An API server that is starting may answer so, too.
	installed, err := install.GetCRD(ctx, apis.Bootstrap.Client, wanted.Name)
	if err != nil {
		c.log.Info("A watch found no VmGroups, and the CRD cannot be looked at", "error", err.Error())
		return false
	}
	if installed != nil {
		return false
	}
	c.log.Info("The CRD was deleted in the member", "crd", wanted.Name)
	what := "It is installed again."
	if c.target.manage == v1alpha1.ManageNone {
		what = "spec.manage is None: apply the output of `manager render`."
	}
	message := fmt.Sprintf("Somebody deleted the CRD %s in the member, and with it all VmGroups there. No VmGroup is served until it is back. %s",
		wanted.Name, what)
	c.update(func(seen *observation) {
		seen.crd = &install.Finding{OK: false, Reason: v1alpha1.ReasonCRDMissing, Message: message}
		seen.crdVersion = ""
	})
	return true
}
