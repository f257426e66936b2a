package member

import (
	"cmp"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/admission"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
)

func admissionSettingsOf(spec *v1alpha1.MemberClusterSpec) settings.Admission {
	result := settings.Admission{FailurePolicy: v1alpha1.AdmissionIgnore}
	if spec.Admission != nil {
		result.URL = spec.Admission.URL
		result.FailurePolicy = cmp.Or(spec.Admission.FailurePolicy, v1alpha1.AdmissionIgnore)
	}
	return result
}

// AdmissionChanged tells the Provider that its Renderer answers differently now. It does not block: the admission objects of all
// members are looked at soon.
func (p *Provider) AdmissionChanged() {
	p.mu.RLock()
	for _, c := range p.connections {
		c.keeper.Wake()
	}
	p.mu.RUnlock()
	// Members that cannot be reached are behind now, and their status says so.
	p.everyMember.Ask()
}

// AdmissionSettings implements admission.Member.
func (c *connection) AdmissionSettings() settings.Admission {
	c.provider.mu.RLock()
	defer c.provider.mu.RUnlock()
	return c.admission
}

// PublishAdmission implements admission.Member.
func (c *connection) PublishAdmission(term int, result admission.Outcome) {
	c.provider.mu.Lock()
	current := c.term == term && !c.ending
	if current {
		c.seen.admission = &result.Finding
		if result.Acknowledged != nil {
			c.seen.acknowledged, c.seen.segment = result.Acknowledged, result.Segment
		}
	}
	c.provider.mu.Unlock()
	if current {
		c.provider.notify(c.target.Name)
	}
}
