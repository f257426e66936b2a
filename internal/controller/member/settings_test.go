package member

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestGroupsAreLookedAtAgainWhenTheirCRDIsUpgraded(t *testing.T) {
	of := func(version string, paused bool) settings {
		mc := &v1alpha1.MemberCluster{}
		mc.Spec.Paused, mc.Status.CRDVersion = paused, version
		return settingsOf(mc)
	}
	for story, c := range map[string]struct {
		before, after settings
		want          bool
	}{
		"nothing changed":               {of("4", false), of("4", false), false},
		"the leader upgraded it":        {of("4", false), of("5", false), true},
		"somebody deleted it":           {of("5", false), of("", false), true},
		"the leader has just looked":    {of("", false), of("5", false), false},
		"and the member is paused, too": {of("", false), of("5", true), true},
	} {
		if got := c.before.changedTo(c.after); got != c.want {
			t.Errorf("%s: %t", story, got)
		}
	}
}
