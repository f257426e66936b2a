package plan

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// found returns the location of a VM outside of the root folder, as far as it is known.
func (p *planner) found(m *member) vsphere.Found {
	return p.in.Observation.Found[vsphere.VMRef(m.status.MoRef)]
}

// away describes a VM outside of the root folder, with its reference and path.
func (p *planner) away(m *member) string {
	at := p.found(m)
	what := m.status.MoRef + " was moved out of the operator's root folder"
	if now := at.Ref.Value; now != "" && now != m.status.MoRef {
		what = fmt.Sprintf("%s was registered again as %s outside of the operator's root folder", m.status.MoRef, now)
	}
	if at.Path != "" {
		what += " and is " + untrusted.Quoted(at.Path)
	}
	return what
}

// places names VMs outside of the root folder, each with its reference and path.
func (p *planner) places(members []*member) []string {
	out := make([]string, len(members))
	for i, m := range members {
		at := p.found(m)
		ref := m.status.MoRef
		if at.Ref.Value != "" && at.Ref.Value != ref {
			ref = at.Ref.Value + ", before " + ref
		}
		if at.Path != "" {
			ref += ", " + untrusted.Quoted(at.Path)
		}
		out[i] = fmt.Sprintf("%s (%s)", m.status.Name, ref)
	}
	return out
}
