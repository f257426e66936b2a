package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// denied is true for a VM that the operator's account cannot change. The last attempt in vCenter decides, or else the privileges that the account lacks on the root folder. Such
// a VM is not stopped to be changed, because it would stay off. Instead the change is tried periodically while the VM is on. vCenter refuses the change with the name of the
// privilege until an administrator grants it. After that, vCenter either makes the change or answers that the VM must be off.
func (p *planner) denied(m *member, c InPlace) bool {
	if f := p.ops.reconfigureFailure(m.status.Ordinal, c.To.Revision); f != nil {
		switch vsphere.KindOf(f.Err) {
		case vsphere.KindPermission:
			return true
		case vsphere.KindOffOnly:
			return false // vCenter asks only that the VM is off
		}
	}
	return slices.ContainsFunc(c.Privileges(m.vm), func(needed string) bool { return slices.Contains(p.in.Observation.Lacks, needed) })
}

// deniedToTry returns the first VM that is not stopped for lack of a privilege and that can be tried, or nil. Meanwhile no other VM is stopped, because one attempt answers for
// all. A VM that cannot be tried answers nothing, so no VM waits for it.
func (p *planner) deniedToTry(b budget) *member {
	for _, m := range p.table() {
		if p.isDenied(m) && m.vm.Connected() && !m.vm.IsTemplate && (!p.cutsOff(m) || p.reconnects(m) || b.lend(p.spec.update.unavailable)) {
			return m
		}
	}
	return nil
}

func (p *planner) isDenied(m *member) bool {
	return !m.doomed && m.state == present && p.change(m) == changeDenied
}

// tooEarly is true for a change that failed and whose retry is not due yet.
func (p *planner) tooEarly(m *member) bool {
	f := p.ops.reconfigureFailure(m.status.Ordinal, p.roll.Revision)
	return f != nil && f.waits(p.in.Now, m.vm)
}

// explainDenied names the missing privilege for the VM that is tried periodically.
func (p *planner) explainDenied(m *member) string {
	return fmt.Sprintf("waiting, because the operator's account in vCenter lacks %s to change %s: no VM is stopped to be changed before it has it",
		p.lacking(m), m.status.Name)
}

// explainUntried reports a VM that the account probably cannot change and that cannot be tried now. It returns "" if there is no such VM, or another is tried.
func (p *planner) explainUntried() string {
	if !p.roll.going || p.repairHeld || p.deniedNow != nil {
		return ""
	}
	at := slices.IndexFunc(p.table(), p.isDenied)
	if at < 0 {
		return ""
	}
	m, when := p.table()[at], "fewer VMs are missing"
	switch {
	case m.vm.IsTemplate:
		when = "it is a virtual machine again"
	case !m.vm.Connected():
		when = fmt.Sprintf("vCenter reaches it again (%s: %s)", m.vm.Connection.Problem(), m.vm.Connection.WayOut())
	}
	return fmt.Sprintf(". The operator's account in vCenter lacked %s to change %s, which is tried again when %s", p.lacking(m), m.status.Name, when)
}

// lacking names the missing privilege to change a VM, as far as it is known.
func (p *planner) lacking(m *member) string {
	var missing []string
	var e *vsphere.Error
	if f := p.ops.reconfigureFailure(m.status.Ordinal, p.roll.Revision); f != nil && errors.As(f.Err, &e) && e.Privilege != "" {
		missing = []string{e.Privilege}
	} else if c, known := p.inPlace(m); known {
		for _, privilege := range c.Privileges(m.vm) {
			if slices.Contains(p.in.Observation.Lacks, privilege) {
				missing = append(missing, privilege)
			}
		}
	}
	if len(missing) == 0 {
		return "a privilege"
	}
	return "the privilege " + strings.Join(missing, ", ")
}
