package member

import (
	"cmp"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
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

// exempt sorts usernames and drops repetitions.
func exempt(usernames ...string) []string {
	slices.Sort(usernames)
	return slices.Compact(usernames)
}

// AdmissionChanged tells the Provider that its Renderer answers differently now. It does not block: the admission objects of all
// members are looked at soon.
func (p *Provider) AdmissionChanged() {
	p.mu.RLock()
	for _, c := range p.connections {
		c.wakeAdmission()
	}
	p.mu.RUnlock()
	// Members that cannot be reached are behind now, and their status says so.
	p.everyMember.Ask()
}
