//go:build !fast

package vcenter_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/check/vcenter"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// common are names that each vCenter has, and that reveal nothing.
var common = []string{"vm", "host", "datastore", "network", "Resources", "Datacenters"}

func TestTheReportHasNoNameOfAnyObject(t *testing.T) {
	for story, o := range map[string]sim.Options{
		"all is well": {}, "the account has no privilege": {Privileges: []string{"Sessions.TerminateSession"}}, "nothing on the root object": {NoRootPermission: true},
	} {
		t.Run(story, func(t *testing.T) {
			o.Username, o.Password, o.Templates = "svc-acme", "secret-acme", []string{"vm-operator-template", "acme-template"}
			r := newRig(t, o)
			must(t, r.person.SetMAC(t.Context(), template, "00:50:56:00:00:01"))
			must(t, r.person.FromOVA(t.Context(), "/DC0/vm/acme-template", map[string]string{"acme-key": "acme-value"}))
			r.options.Network, r.options.Probe, r.settings.Network = "DC0_DVPG0", true, true
			r.settings = vcenter.Settings{VCenter: "acme-vcenter", Namespace: "acme-namespace", Secret: "acme-credentials", Network: true}
			must(t, r.sim.HideNamed("DVS0"))
			facts, found, _ := r.check()
			out := &bytes.Buffer{}
			must(t, vcenter.NewReport(facts, found, "1.2.3").Write(out))
			var report vcenter.Report
			must(t, json.Unmarshal(out.Bytes(), &report))
			if len(report.Findings) != len(found) || len(report.Rights) == 0 {
				t.Fatalf("the report lacks something:\n%s", out)
			}
			names := []string{"acme", r.options.Session.URL, strings.TrimPrefix(r.options.Session.URL, "https://"), facts.Server.About.InstanceUUID, facts.Server.Certificate.SHA256, "00:50:56"}
			for _, o := range r.sim.Inventory() {
				names = append(names, o.Name, o.Ref)
			}
			if len(names) < 40 {
				t.Fatalf("only %d names were found", len(names))
			}
			for _, name := range names {
				if !slices.Contains(common, name) && strings.Contains(out.String(), name) {
					t.Errorf("%q is in the report:\n%s", name, out)
				}
			}
		})
	}
}
