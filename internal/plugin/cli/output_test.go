package cli

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/overview"
	"github.com/codeconnect/vmgroup-operator/internal/term"
)

var update = flag.Bool("update", false, "write testdata/*.golden instead of comparing with them")

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var ages = term.Times{Now: noon}

func ago(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

// member is a MemberCluster with conditions of the form "Type=Status/Reason: message".
func member(name string, conditions ...string) v1alpha1.MemberCluster {
	mc := v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: ago(41 * 24 * time.Hour)}}
	for _, text := range conditions {
		head, message, _ := strings.Cut(text, ": ")
		kind, state, _ := strings.Cut(head, "=")
		status, reason, _ := strings.Cut(state, "/")
		mc.Status.Conditions = append(mc.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message, LastTransitionTime: ago(4 * time.Minute),
		})
	}
	return mc
}

func well(name string) v1alpha1.MemberCluster {
	mc := member(name, "Ready=True/Engaged: The member is served.", "CredentialsValid=True/Renewed: The tokens are renewed.", "Claimed=True/Claimed: This installation serves the member.",
		"CRDInstalled=True/CRDInstalled: The CRD is up to date.", "AdmissionReady=True/AdmissionInstalled: Everything is in place.")
	mc.Status.Groups, mc.Status.VMs, mc.Status.ReadyVMs, mc.Status.DesiredVMs, mc.Status.KubernetesVersion = 12, 40, 40, 40, "v1.36.5"
	expires := metav1.NewTime(noon.Add(6*24*time.Hour + time.Hour))
	mc.Status.Credentials = &v1alpha1.MemberCredentials{Member: &v1alpha1.MemberCredential{ExpirationTime: &expires}}
	return mc
}

func unreachable(name string) v1alpha1.MemberCluster {
	mc := member(name, "Ready=False/MemberUnreachable: dial tcp 10.9.7.2:6443: i/o timeout", "CredentialsValid=Unknown/Connecting: It was not asked.", "OrphanedVMs=True/GroupGone: 2 VMs have no group.")
	mc.Status.Groups, mc.Status.VMs, mc.Status.KubernetesVersion = 2, 6, "v1.35.1"
	return mc
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%swant\n%s", name, got, want)
	}
}

func TestTheListHasMembersThatAreNotReadyFirst(t *testing.T) {
	expired := well("old")
	past := ago(time.Hour)
	expired.Status.Credentials.Member.ExpirationTime = &past
	revoked := member("stolen", "Ready=False/Unauthorized: 401", "CredentialsValid=False/CredentialsRevoked: 401")
	members := []v1alpha1.MemberCluster{well("a"), unreachable("edge-7"), expired, member("new"), revoked}
	sortMembers(members)
	for name, width := range map[string]int{"list-80": 80, "list-120": 120, "list-200": 200, "list-no-terminal": 0} {
		out := &bytes.Buffer{}
		if err := fitTable(out, memberTable(members, ages), false, width, listDrops); err != nil {
			t.Fatal(err)
		}
		compare(t, name, out.String())
	}
	out := &bytes.Buffer{}
	if err := fitTable(out, memberTable(members, term.Times{Now: noon, UTC: true}), false, 0, nil); err != nil {
		t.Fatal(err)
	}
	compare(t, "list-utc", out.String())
}

// groupIn is a VmGroup in a phase, with condition Ready of the form "Status/Reason".
func groupIn(namespace, name string, phase v1alpha1.Phase, ready string) v1alpha1.VmGroup {
	g := v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: ago(41 * 24 * time.Hour)}}
	g.Spec = v1alpha1.VmGroupSpec{CPU: 2, Memory: 4, Template: "debian-12"}
	g.Status = v1alpha1.VmGroupStatus{Phase: phase, DesiredReplicas: 5, ReadyReplicas: 2, UpdatedReplicas: 3, VCenter: "vc-north"}
	if status, reason, ok := strings.Cut(ready, "/"); ok {
		g.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionStatus(status), Reason: reason, LastTransitionTime: ago(2 * time.Hour)}}
	}
	return g
}

func TestGetHasGroupsThatAPersonMustCheckFirst(t *testing.T) {
	paused := groupIn("shop", "batch", v1alpha1.PhaseRunning, "True/AllVMsReady")
	paused.Status.Conditions = append(paused.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionPaused, Status: metav1.ConditionTrue})
	deleted := groupIn("shop", "old", v1alpha1.PhaseError, "False/DeletionHeld")
	deleted.DeletionTimestamp = new(ago(time.Minute))
	groups := []v1alpha1.VmGroup{
		groupIn("shop", "api", v1alpha1.PhaseRunning, "True/AllVMsReady"), paused, groupIn("shop", "web", v1alpha1.PhaseError, "False/RetainForbidsReplacement"), deleted,
		groupIn("shop", "lost", v1alpha1.PhaseRunning, "Unknown/Unattended"), groupIn("apps", "new", "", ""), groupIn("apps", "grows", v1alpha1.PhasePending, "False/ScalingUp"),
		groupIn("shop", "forged", v1alpha1.PhasePending, "False/x\x1b[2J\ny"),
	}
	listed := make([]listedGroup, 0, len(groups))
	for i := range groups {
		listed = append(listed, listedGroup{VmGroup: &groups[i]})
	}
	sortGroups(listed)
	for name, width := range map[string]int{"get-80": 80, "get-120": 120, "get-200": 200, "get-no-terminal": 0} {
		out := &bytes.Buffer{}
		if err := fitTable(out, groupTable(listed, false, true, false, ages), false, width, groupDrops); err != nil {
			t.Fatal(err)
		}
		compare(t, name, out.String())
	}
}

func TestTheListOfVCenters(t *testing.T) {
	north := v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "vc-north", CreationTimestamp: ago(41 * 24 * time.Hour)}}
	north.Status = v1alpha1.VCenterStatus{Version: "8.0.3", Templates: 12, ReadyVMs: 1100, DesiredVMs: 1112, RunningTasks: 8}
	north.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Connected"}}
	north.Status.NotReady = &v1alpha1.NotReadyGroups{Groups: 9, Oldest: new(ago(41 * time.Minute))}
	south := v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "vc-south", CreationTimestamp: ago(time.Hour)}}
	south.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "InvalidLogin"}}
	vcenters := []v1alpha1.VCenter{south, north, {ObjectMeta: metav1.ObjectMeta{Name: "vc-new", CreationTimestamp: ago(time.Second)}}}
	for name, width := range map[string]int{"vcenters-80": 80, "vcenters-120": 120, "vcenters-200": 200, "vcenters-no-terminal": 0} {
		out := &bytes.Buffer{}
		if err := fitTable(out, vcenterTable(vcenters, ages), false, width, vcenterDrops); err != nil {
			t.Fatal(err)
		}
		compare(t, name, out.String())
	}
}

func TestTheQuotasAndTemplatesOfANamespace(t *testing.T) {
	limits := []inquiry.Quota{
		{Policy: "default", Groups: &inquiry.Amount{Used: new(int64(3)), Hard: 10}, VMs: &inquiry.Amount{Used: new(int64(45)), Hard: 40}, Memory: &inquiry.Amount{Used: new(int64(90)), Hard: 128}},
		{Policy: "all-of-the-shops", Together: true, Warns: true, CPU: &inquiry.Amount{Used: new(int64(1000)), Hard: 2000}},
		{Policy: "new", VMs: &inquiry.Amount{Hard: 7}},
	}
	quotas := quotaTable(limits)
	templates := templateTable()
	templates.Rows = append(templateRows("vc-north", []inquiry.Template{
		{Name: "debian-13", Path: "/DC0/vm/templates/debian-13", Linked: true}, {Name: "debian-12", Path: "/DC0/vm/templates/debian-12"},
		{Name: "evil\x1b[2J\nname", Path: "/DC0/vm/evil", Unfit: "It has an independent disk."},
	}), templateRows("vc-south", []inquiry.Template{{Name: "/DC1/vm/a/twice", Path: "/DC1/vm/a/twice", Linked: true, Unfit: "It has an independent disk."}})...)
	for name, width := range map[string]int{"80": 80, "120": 120, "200": 200, "no-terminal": 0} {
		out := &bytes.Buffer{}
		if err := errors.Join(fitTable(out, quotas.DeepCopy(), false, width, quotaDrops), fitTable(out, templates.DeepCopy(), false, width, templateDrops)); err != nil {
			t.Fatal(err)
		}
		compare(t, "offers-"+name, out.String())
	}
	out, c := &bytes.Buffer{}, &cobra.Command{}
	of := &offers{Options: &Options{IOStreams: genericiooptions.IOStreams{Out: out}}}
	of.add(c)
	report := &namespaceReport{Namespace: "shop", Quotas: limits, VCenters: []vcenterReport{
		{Name: "vc-north", Default: true, Templates: []inquiry.Template{{Name: "debian-12", Path: "/DC0/vm/debian-12", Linked: true}}}, {Name: "vc-south", Unknown: "it is not read yet"},
	}}
	for _, format := range []string{"yaml", "json", "jsonpath={.quotas[*].policy}"} {
		if err := errors.Join(c.Flags().Set("output", format), report.print(of, nil)); err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintln(out)
	}
	compare(t, "offers-formats", out.String())
	if err := errors.Join(c.Flags().Set("output", "name"), report.print(of, nil)); err == nil {
		t.Error("a report has no name")
	}
}

func TestTheCheckOfAMember(t *testing.T) {
	for name, test := range map[string]struct {
		of  v1alpha1.MemberCluster
		bad bool
	}{
		"well": {well("a"), false}, "unreachable": {unreachable("edge-7"), true}, "silent": {member("new"), true},
	} {
		t.Run(name, func(t *testing.T) {
			out := &bytes.Buffer{}
			r := &checkReport{out: steps{out, term.Style{}}, times: ages}
			r.conditions(&test.of)
			if r.bad != test.bad {
				t.Errorf("bad is %t", r.bad)
			}
			compare(t, "check-"+name, out.String())
		})
	}
}

func TestTheStatusOfAFleet(t *testing.T) {
	waits, edge, shop := well("team-b"), unreachable("edge-7"), well("team-a")
	waits.Status.NotReady = &v1alpha1.NotReadyGroups{Groups: 2, Worst: []v1alpha1.NotReadyGroup{{VCenter: "vc-south", Namespace: "shop", Name: "api"}, {VCenter: "vc-south", Namespace: "shop", Name: "web"}}}
	shop.Status.NotReady = &v1alpha1.NotReadyGroups{Groups: 1, Worst: []v1alpha1.NotReadyGroup{{VCenter: "vc-north", Namespace: "shop", Name: "web", Reason: "TemplateNotFound", Since: ago(2 * time.Hour)}}}
	south := v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "vc-south"}}
	south.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "InvalidLogin", LastTransitionTime: ago(12 * time.Minute),
		Message: `VCenter "vc-south" does not accept the user name or password of Secret "vc-creds". Correct the Secret; the operator tries again at once.`,
	}}
	south.Status.NotReady = &v1alpha1.NotReadyGroups{Groups: 2, Worst: []v1alpha1.NotReadyGroup{{Member: "team-b", Namespace: "shop", Name: "api"}, {Member: "team-b", Namespace: "shop", Name: "web"}}}
	north := v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "vc-north"}}
	north.Status = v1alpha1.VCenterStatus{ReadyVMs: 1112, DesiredVMs: 1112, Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}}
	of := overview.Of([]v1alpha1.MemberCluster{waits, edge, shop, well("team-c"), well("team-d")}, []v1alpha1.VCenter{north, south}, ages)
	for name, width := range map[string]int{"status-80": 80, "status-120": 120, "status-200": 200, "status-no-terminal": 0} {
		out := &bytes.Buffer{}
		if err := printOverview(out, term.Style{ASCII: width == 200}, width, "Hub prod   3 replicas, 128 of 128 buckets held, leader 9xw7m", of); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if width > 0 && lipgloss.Width(line) > width {
				t.Errorf("a line is wider than %d columns: %s", width, line)
			}
		}
		compare(t, name, out.String())
	}
}

func TestTheDescriptionOfAGroup(t *testing.T) {
	g := groupIn("shop", "web", v1alpha1.PhaseError, "False/TemplateNotFound")
	g.Generation, g.Status.ObservedGeneration, g.Status.UpdateRevision = 7, 6, "8b1f"
	g.Status.Folder = &v1alpha1.FolderStatus{Path: "/DC0/vm/vmgroups/team-a/shop/web.3f2a91c0"}
	g.Status.Conditions[0].Message = `There is no template "debian-13" in VCenter "vc-north". Set spec.template to one of debian-12, debian-13-minimal.`
	g.Status.Conditions = append(g.Status.Conditions,
		metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Message: "Set spec.template."},
		metav1.Condition{Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: "RolloutWaits", Message: "2 VMs have an older revision.", LastTransitionTime: ago(time.Hour)},
		metav1.Condition{Type: v1alpha1.ConditionPolicyCompliant, Status: metav1.ConditionTrue},
		metav1.Condition{Type: v1alpha1.ConditionForeignVMs, Status: metav1.ConditionTrue, Reason: "ForeignVMs", Message: "evil\x1b[2J\nname", LastTransitionTime: ago(time.Hour)})
	g.Status.VMs = []v1alpha1.VMStatus{
		{Name: "web-0", Ordinal: 0, Phase: v1alpha1.VMReady, IPAddress: "10.1.4.20", Revision: "5d9c", ReadySince: new(ago(41 * 24 * time.Hour))},
		{Name: "web-1", Ordinal: 1, Phase: v1alpha1.VMReady, IPAddress: "10.1.4.21", Revision: "8b1f", ReadySince: new(ago(3 * time.Hour))},
		{Name: "web-2", Ordinal: 2, Phase: v1alpha1.VMFailed, Revision: "8b1f", Message: `There is no template "debian-13".`}, {Name: "web-3", Ordinal: 3},
	}
	g.Status.Edits = []v1alpha1.Edit{
		{Generation: 1, Time: ago(41 * 24 * time.Hour), User: "alice@example.com", Manager: "kubectl-create"},
		{Generation: 7, Time: ago(2 * time.Hour), User: "bob\x1b[2J", Fields: []string{"replicas 2→5", "template debian-12→debian-13"}},
		{Generation: 8, Time: ago(time.Hour), Fields: []string{"paused"}},
	}
	events := []corev1.Event{
		{Type: corev1.EventTypeWarning, Reason: "TemplateNotFound", Message: "There is no template.", LastTimestamp: ago(time.Hour), Count: 4},
		{Type: corev1.EventTypeNormal, Reason: "VMsCreated", Message: "Created 2 VMs: web-0, web-1.", EventTime: metav1.NewMicroTime(noon.Add(-time.Minute))},
	}
	for name, width := range map[string]int{"describe-80": 80, "describe-120": 120, "describe-200": 200, "describe-no-terminal": 0} {
		is := &description{Options: &Options{Now: func() time.Time { return noon }}, context: "team-a", group: &g, served: "bucket 93, held by vmgroup-operator-7c9d8b6f5-9xw7m (session 9xw7m, ready)", events: events}
		compare(t, name, is.text(width))
	}
	inUTC := &description{Options: &Options{Now: func() time.Time { return noon }, utc: true}, context: "team-a", group: &g, events: events}
	compare(t, "describe-utc", inUTC.text(120))
	large := groupIn("shop", "large", v1alpha1.PhasePending, "False/ScalingUp")
	for i := range int32(500) {
		large.Status.VMs = append(large.Status.VMs, v1alpha1.VMStatus{Name: fmt.Sprint("large-", i), Ordinal: i, Phase: v1alpha1.VMReady})
	}
	large.Status.VMs[77].Phase = v1alpha1.VMLost
	compare(t, "describe-large", (&description{Options: &Options{Now: func() time.Time { return noon }}, context: "team-a", group: &large}).text(0))
}

func TestThePlanOfAnEdit(t *testing.T) {
	before, after := groupIn("shop", "web", "", ""), groupIn("shop", "web", "", "")
	before.Spec.Replicas, after.Spec.Replicas, after.Spec.CPU = new(int32(5)), new(int32(3)), 4
	out := &bytes.Buffer{}
	p := &planOptions{Options: &Options{IOStreams: genericiooptions.IOStreams{Out: out}}}
	for _, answer := range []inquiry.Answer{
		{Plan: inquiry.Plan{Removes: 2, Removed: []string{"web-3", "web-4\x1b[2J"}, Restarts: 3, OneByOne: true, Surge: 1, Waits: []string{"1 VM waits"}}, Notes: []string{"a note"}},
		{Plan: inquiry.Plan{Adds: 1, Removes: 30, Removed: []string{"web-0"}, Retained: true, PowersOff: 1, PowersOn: 2, Replaces: 4, Resizes: 5, Connects: 6}},
		{Plan: inquiry.Plan{Unknown: `VCenter "vc-south" cannot be reached`}}, {},
	} {
		p.result(&before, &after, []string{"of another webhook", answer.Warning()})
	}
	p.result(nil, &after, nil)
	p.result(&before, &before, nil)
	p.refusal(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "shop", "name": "web"}}}, apierrors.NewInvalid(
		v1alpha1.GroupVersion.WithKind("VmGroup").GroupKind(), "web", field.ErrorList{field.Invalid(field.NewPath("spec", "cpu"), 16, "exceeds the maximum 4"), field.Forbidden(field.NewPath("spec", "template"), "not granted")}))
	compare(t, "plan", out.String())
}
