package webhook

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy/policytest"
)

// hostnameGroup is a group of a case, before and after.
func hostnameGroup(c policytest.HostnameCase) (old, after *v1alpha1.VmGroup) {
	after = aGroup(func(g *v1alpha1.VmGroup) { g.Name = c.Name })
	was, now := c.Group(after.Spec)
	after.Spec = now
	if was != nil {
		old = after.DeepCopy()
		old.Spec = *was
	}
	return old, after
}

func TestHostNamesThatGuestsCannotHaveAreRefused(t *testing.T) {
	for _, c := range policytest.HostnameCases() {
		t.Run(c.Story, func(t *testing.T) {
			old, after := hostnameGroup(c)
			k := knowledgeWith(policyNamed("default", defaultPolicy()))
			request := requestFor(t, nil, after)
			if old != nil {
				k.groups = map[string]*v1alpha1.VmGroup{old.Namespace + "/" + old.Name: old}
				request = requestFor(t, old, after)
			}
			request.Name = c.Name
			response := serve(t, k, nil).ask(ValidatePath(testMember, testSegment), request)
			if response.Allowed != (c.Refused == "") {
				t.Errorf("allowed is %v: %+v", response.Allowed, response.Result)
			}
			if !response.Allowed && !strings.HasPrefix(response.Result.Message, `spec.guest.hostname: Invalid value: "Name": `) ||
				!response.Allowed && !strings.Contains(response.Result.Message, c.Refused) {
				t.Errorf("refused with %s", response.Result.Message)
			}
			if got := strings.Join(response.Warnings, "\n"); strings.Contains(got, "guest.hostname") != (c.Warned != "") || !strings.Contains(got, c.Warned) {
				t.Errorf("warned: %s", got)
			}
		})
	}
}
