package webhook

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// story is a change of one group, and the webhook's answer.
type story struct {
	story      string
	old, group func(*v1alpha1.VmGroup) // on top of the usual group; old nil for a create
	preview    Preview
	refused    string
	warnings   []string
	quota      []policy.Violation
}

func known(p Preview) Preview {
	p.Known, p.VCenter = true, "default"
	return p
}

func TestWhatPoliciesDoNotKnow(t *testing.T) {
	as := func(f func(*v1alpha1.VmGroup)) func(*v1alpha1.VmGroup) { return f }
	same := as(func(*v1alpha1.VmGroup) {})
	deny := func(field, message string) []policy.Denial { return []policy.Denial{{Field: field, Message: message}} }
	fewer, none := plan.Revision(v1alpha1.VmGroupSpec{CPU: 16, Memory: 4, Template: "linux-12"}), plan.Revision(v1alpha1.VmGroupSpec{CPU: 2, Memory: 4, Template: "linux-11"})
	backTo := plan.Revision(v1alpha1.VmGroupSpec{CPU: 16, Memory: 4, Template: "windows"})
	template := deny("spec.template", `template "linux-12" is not granted`)
	for _, c := range []story{
		{
			story: "a template that does not exist", group: same, preview: known(Preview{TemplateMissing: true}),
			warnings: []string{`spec.template: "linux-12" does not exist in VCenter "default"; VMs are cloned once it does`},
		},
		{
			story: "a template that does not exist, and fewer VMs", old: same,
			group:   as(func(g *v1alpha1.VmGroup) { g.Spec.Replicas = new(int32(1)) }),
			preview: known(Preview{TemplateMissing: true}),
		},
		{
			story: "a template that does not exist is not worth a word beside a refusal", group: as(func(g *v1alpha1.VmGroup) { g.Spec.CPU = 16 }),
			preview: known(Preview{TemplateMissing: true}), refused: `spec.cpu: Invalid value: 16: exceeds the maximum 4 of VmGroupPolicy "default"`,
		},
		{
			story: "a template that is not granted", group: same, preview: known(Preview{Denials: template, TemplateMissing: true}),
			refused: `spec.template: Forbidden: template "linux-12" is not granted`,
		},
		{
			story: "where a template is that is not granted", group: same,
			preview: known(Preview{Denials: template, TemplatePath: "/DC0/vm/private/windows"}),
			refused: `spec.template: Forbidden: template "linux-12" is not granted`,
		},
		{
			story: "a VCenter that is not granted is not described", group: same,
			preview: Preview{Denials: deny("spec.vcenter", "ask"), Reason: "secret-vcenter.example.com does not answer", VCenter: "default"},
			refused: "spec.vcenter: Forbidden: ask",
		},
		{
			story: "a grant was taken away, and something else changes", old: same,
			group:   as(func(g *v1alpha1.VmGroup) { g.Spec.PowerState = v1alpha1.PoweredOff }),
			preview: known(Preview{Denials: template, Plan: plan.Plan{Actions: []plan.Action{{Kind: plan.PowerOffVM}}}}),
			// The fate of VMs in a vCenter that is not granted is not revealed.
			warnings: []string{`spec.template: Forbidden: template "linux-12" is not granted`},
		},
		{
			story: "a grant was taken away, and the group grows", old: same,
			group:   as(func(g *v1alpha1.VmGroup) { g.Spec.Replicas = new(int32(4)) }),
			preview: known(Preview{Denials: template}), refused: `spec.template: Forbidden: template "linux-12" is not granted`,
		},
		{
			story: "another template that is not granted", old: as(func(g *v1alpha1.VmGroup) { g.Spec.Template = "linux-11" }), group: same,
			preview: known(Preview{Denials: template}), refused: `spec.template: Forbidden: template "linux-12" is not granted`,
		},
		{
			story: "a datastore that is not granted", old: same,
			group: as(func(g *v1alpha1.VmGroup) { g.Spec.Placement = &v1alpha1.Placement{Datastore: "fast"} }),
			preview: known(Preview{Denials: []policy.Denial{
				{Field: "spec.placement.datastore", Message: "not yours"}, {Field: "spec.placement.network", Message: "kept"},
			}}),
			refused: "spec.placement.datastore: Forbidden: not yours", warnings: []string{"spec.placement.network: Forbidden: kept"},
		},
		{
			story: "user data where the member does not allow it", old: same,
			group:   as(func(g *v1alpha1.VmGroup) { g.Spec.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: "s"} }),
			preview: known(Preview{Denials: deny("spec.userDataSecretRef", "not here")}), refused: "spec.userDataSecretRef: Forbidden: not here",
		},
		{
			story: "user data is given up", old: as(func(g *v1alpha1.VmGroup) { g.Spec.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: "s"} }),
			group: same, preview: known(Preview{}),
		},
		{
			story: "a vCenter that cannot be reached", group: same,
			preview:  Preview{VCenter: "default", Reason: `VCenter "default" cannot be reached`},
			warnings: []string{`what this does in vCenter cannot be said now: VCenter "default" cannot be reached`},
		},
		{
			story: "a vCenter that cannot be reached does not open policies", group: as(func(g *v1alpha1.VmGroup) { g.Spec.CPU = 16 }),
			preview: Preview{VCenter: "default"},
			refused: `spec.cpu: Invalid value: 16: exceeds the maximum 4 of VmGroupPolicy "default"`,
		},
		{
			story: "a vCenter that cannot be reached, for no reason that is known", group: same, preview: Preview{VCenter: "default"},
			warnings: []string{`what this does in vCenter cannot be said now: VCenter "default" cannot be checked`},
		},
		{
			story: "another VCenter than the VMs are in",
			old:   as(func(g *v1alpha1.VmGroup) { g.Spec.VCenter, g.Status.VCenter = "", "default" }),
			group: as(func(g *v1alpha1.VmGroup) { g.Spec.VCenter = "east" }), preview: known(Preview{}),
			refused: `spec.vcenter: Invalid value: "east": the VMs of this group are in VCenter "default" and do not move; create a new VmGroup instead`,
		},
		{
			story: "the VCenter that the VMs are in", old: as(func(g *v1alpha1.VmGroup) { g.Spec.VCenter, g.Status.VCenter = "", "default" }),
			group: same, preview: known(Preview{}),
		},
		{
			story: "a status that the sender made up", old: as(func(g *v1alpha1.VmGroup) { g.Spec.VCenter, g.Status.VCenter = "", "default" }),
			group:   as(func(g *v1alpha1.VmGroup) { g.Spec.VCenter, g.Status.VCenter = "east", "east" }),
			preview: known(Preview{}),
			refused: `spec.vcenter: Invalid value: "east": the VMs of this group are in VCenter "default" and do not move; create a new VmGroup instead`,
		},
		{
			story: "a quota and a limit", group: as(func(g *v1alpha1.VmGroup) { g.Spec.CPU = 16 }), preview: known(Preview{}),
			quota: []policy.Violation{
				{Field: "spec.replicas", Value: int32(3), Detail: "exceeds the quota", Enforced: true},
				{Field: "spec.memory", Value: int32(4), Detail: "is much"},
			},
			refused: `spec.cpu: Invalid value: 16: exceeds the maximum 4 of VmGroupPolicy "default"; ` +
				`spec.replicas: Invalid value: 3: exceeds the quota`,
			warnings: []string{"spec.memory: Invalid value: 4: is much"},
		},
		{
			story: "back to what a VM still is, and what is not allowed by now", old: same,
			group: as(func(g *v1alpha1.VmGroup) { g.Spec.CPU, g.Spec.Template = 16, "windows" }),
			preview: Preview{
				Standing: 1, Denials: template, Update: group.Foretold{Known: true, Replaced: 2},
			},
			quota: []policy.Violation{{Field: "spec.memory", Value: int32(4), Detail: "exceeds the quota", Enforced: true}},
			warnings: []string{
				"accepted, because 1 VM still has revision " + backTo + ". It stays; VMs of other revisions are not changed, and none of this one is cloned, until spec is allowed again",
				`spec.cpu: Invalid value: 16: exceeds the maximum 4 of VmGroupPolicy "default"`,
				`spec.template: Invalid value: "windows": matches none of the templates that VmGroupPolicy "default" allows: linux-*`,
				"spec.memory: Invalid value: 4: exceeds the quota",
				`spec.template: Forbidden: template "linux-12" is not granted`,
			},
		},
		{
			story: "back to what VMs still are, with fewer of them", old: same,
			group: as(func(g *v1alpha1.VmGroup) { g.Spec.CPU, g.Spec.Replicas = 16, new(int32(1)) }),
			preview: known(Preview{Standing: 3, Plan: plan.Plan{
				VMs: []plan.VMStatus{{Ordinal: 0, Name: "vg-0"}, {Ordinal: 1, Name: "vg-1"}, {Ordinal: 2, Name: "vg-2"}}, Doomed: []int32{1, 2},
			}}),
			warnings: []string{
				"accepted, because 3 VMs still have revision " + fewer + ". At most 1 of these stay, since spec.replicas is 1; VMs of other revisions are not changed, and none of " +
					"this one is cloned, until spec is allowed again",
				`spec.cpu: Invalid value: 16: exceeds the maximum 4 of VmGroupPolicy "default"`,
				"this change removes 2 VMs: vg-1, vg-2",
			},
		},
		{
			story: "back to what VMs still are and is not granted, with none of them", old: same,
			group: as(func(g *v1alpha1.VmGroup) {
				g.Spec.Template, g.Spec.Replicas, g.Spec.DeletionPolicy = "linux-11", new(int32(0)), v1alpha1.DeletionRetain
			}),
			preview: Preview{Standing: 3, Denials: template, Plan: plan.Plan{
				VMs: []plan.VMStatus{{Ordinal: 0, Name: "vg-0"}, {Ordinal: 1, Name: "vg-1"}}, Doomed: []int32{0, 1}, Actions: []plan.Action{{Kind: plan.CreateVM}},
			}},
			warnings: []string{
				"accepted, because 3 VMs still have revision " + none + ". None stays, since spec.replicas is 0; VMs of other revisions are not changed, and none of this one " +
					"is cloned, until spec is allowed again",
				`spec.template: Forbidden: template "linux-12" is not granted`,
				"this change retains 2 VMs (kept in vCenter): vg-0, vg-1",
			},
		},
		{
			story: "back to what VMs still are, with fewer of them, while vCenter cannot be checked", old: same,
			group:   as(func(g *v1alpha1.VmGroup) { g.Spec.CPU, g.Spec.Replicas = 16, new(int32(2)) }),
			preview: Preview{Standing: 2, Reason: "away"},
			warnings: []string{
				"accepted, because 2 VMs still have revision " + fewer + ". These stay; VMs of other revisions are not changed, and none of this one is cloned, until spec is allowed again",
				`spec.cpu: Invalid value: 16: exceeds the maximum 4 of VmGroupPolicy "default"`,
				"this change lowers spec.replicas from 3 to 2, and VMs leave; which ones cannot be said now",
			},
		},
		{
			story: "back to what VMs still are, with more of them", old: same,
			group:   as(func(g *v1alpha1.VmGroup) { g.Spec.CPU, g.Spec.Replicas = 16, new(int32(4)) }),
			preview: known(Preview{Standing: 3}), refused: `spec.cpu: Invalid value: 16: exceeds the maximum 4 of VmGroupPolicy "default"`,
		},
		{
			story: "back to what no VM is any more", old: same, group: as(func(g *v1alpha1.VmGroup) { g.Spec.CPU = 16 }),
			preview: known(Preview{}), refused: `spec.cpu: Invalid value: 16: exceeds the maximum 4 of VmGroupPolicy "default"`,
		},
		{
			story: "back to what VMs still are, and to another VCenter",
			old:   as(func(g *v1alpha1.VmGroup) { g.Spec.VCenter, g.Status.VCenter = "", "default" }),
			group: as(func(g *v1alpha1.VmGroup) { g.Spec.CPU, g.Spec.VCenter = 16, "east" }), preview: known(Preview{Standing: 3}),
			refused: `spec.vcenter: Invalid value: "east": the VMs of this group are in VCenter "default" and do not move; create a new VmGroup instead; ` +
				`spec.cpu: Invalid value: 16: exceeds the maximum 4 of VmGroupPolicy "default"`,
		},
		{
			story: "back to what VMs still are, and allowed", old: same, group: as(func(g *v1alpha1.VmGroup) { g.Spec.CPU = 4 }),
			preview:  known(Preview{Standing: 2, Update: group.Foretold{Known: true, Replaced: 1}}),
			warnings: []string{"this change replaces 1 VM"},
		},
		{
			story: "what becomes of VMs", old: same, group: as(func(g *v1alpha1.VmGroup) { g.Spec.Replicas = new(int32(5)) }),
			preview:  known(Preview{Plan: plan.Plan{Actions: []plan.Action{{Kind: plan.CreateVM, Ordinal: 3}, {Kind: plan.CreateVM, Ordinal: 4}}}}),
			warnings: []string{"this change adds 2 VMs"},
		},
		{
			story: "labels only, while nothing is known of the vCenter", old: same,
			group: as(func(g *v1alpha1.VmGroup) { g.Labels = map[string]string{"a": "b"} }), preview: Preview{},
		},
	} {
		t.Run(c.story, func(t *testing.T) {
			w := knowledgeWith(policyNamed("default", defaultPolicy()))
			w.preview = func(g *v1alpha1.VmGroup) (Preview, error) {
				if before := aGroup(); c.old != nil {
					c.old(before)
					if g.Status.VCenter != before.Status.VCenter {
						t.Errorf("the Knowledge is shown status.vcenter %q", g.Status.VCenter)
					}
				}
				return c.preview, nil
			}
			w.quota = func(_, _ *v1alpha1.VmGroup) []policy.Violation { return c.quota }
			s := serve(t, w, nil)
			var old any
			if c.old != nil {
				before := aGroup(c.old)
				w.groups = map[string]*v1alpha1.VmGroup{"apps/vg": before}
				old = before
			}
			got := s.validate(requestFor(t, old, aGroup(c.group)))
			message := ""
			if !got.Allowed {
				message = got.Result.Message
			}
			if got.Allowed != (c.refused == "") || message != c.refused {
				t.Errorf("allowed %v: %s\nwant: %s", got.Allowed, message, c.refused)
			}
			if !slices.Equal(got.Warnings, c.warnings) {
				t.Errorf("warnings:\n%s\nwant:\n%s", strings.Join(got.Warnings, "\n"), strings.Join(c.warnings, "\n"))
			}
		})
	}
}

// TestASenderSpeaksForNoOtherGroup: with a member's segment any client that reaches the port can send a review. Its claims about the group's
// UID and status are not trusted.
func TestASenderSpeaksForNoOtherGroup(t *testing.T) {
	theirs := types.UID("99999999-0000-4000-8000-000000000009")
	seen := aGroup(func(g *v1alpha1.VmGroup) { g.Status.VCenter = "seen" })
	feigned := func(replicas int32) *v1alpha1.VmGroup {
		return aGroup(func(g *v1alpha1.VmGroup) {
			g.UID, g.Status.VCenter, g.Status.VMs = theirs, "theirs", []v1alpha1.VMStatus{{Name: "theirs-0"}}
			g.Spec.Replicas = &replicas
		})
	}
	own := feigned(3)
	own.UID = seen.UID
	for _, c := range []struct {
		story      string
		known      *v1alpha1.VmGroup
		old        any
		wantStatus string
		wantUID    types.UID
	}{
		{story: "a new group", wantUID: "drawn"},
		{story: "a group that the hub knows", known: seen, old: own, wantStatus: "seen", wantUID: seen.UID},
		{story: "another group of the name", known: seen, old: feigned(3), wantUID: "drawn"},
		{story: "an unknown group", old: feigned(3), wantUID: "drawn"},
	} {
		t.Run(c.story, func(t *testing.T) {
			w := knowledgeWith(policyNamed("default", defaultPolicy()))
			if c.known != nil {
				w.groups = map[string]*v1alpha1.VmGroup{"apps/vg": c.known}
			}
			asked := 0
			check := func(g *v1alpha1.VmGroup) {
				asked++
				if g.UID != c.wantUID || g.Status.VCenter != c.wantStatus || len(g.Status.VMs) > 0 {
					t.Errorf("asked about UID %q, status of %q, VMs %v", g.UID, g.Status.VCenter, g.Status.VMs)
				}
			}
			w.preview = func(g *v1alpha1.VmGroup) (Preview, error) {
				check(g)
				return Preview{VCenter: "default", Known: true}, nil
			}
			w.quota = func(old, g *v1alpha1.VmGroup) []policy.Violation {
				check(g)
				if old != nil {
					check(old)
				}
				return nil
			}
			s := serve(t, w, func(o *Options) { o.NewUID = func() string { return "drawn" } })
			if got := s.validate(requestFor(t, c.old, feigned(4))); !got.Allowed || asked < 2 {
				t.Errorf("allowed %v, asked %d times: %+v", got.Allowed, asked, got.Result)
			}
		})
	}
}

// resized is a plan that changes the number of the VMs of a group.
func resized(from, to int32) (p plan.Plan) {
	for ordinal := range max(from, to) {
		switch {
		case ordinal >= from:
			p.Actions = append(p.Actions, plan.Action{Kind: plan.CreateVM, Ordinal: ordinal})
			continue
		case ordinal >= to:
			p.Doomed = append(p.Doomed, ordinal)
		}
		p.VMs = append(p.VMs, plan.VMStatus{Name: plan.VMName("vg", ordinal), Ordinal: ordinal})
	}
	return p
}

func TestScaleIsJudgedAsTheGroup(t *testing.T) {
	w := knowledgeWith(policyNamed("default", defaultPolicy()))
	stored := aGroup()
	w.groups = map[string]*v1alpha1.VmGroup{"apps/vg": stored}
	w.preview = func(g *v1alpha1.VmGroup) (Preview, error) {
		return known(Preview{Plan: resized(*stored.Spec.Replicas, *g.Spec.Replicas)}), nil
	}
	s := serve(t, w, nil)
	for _, c := range []struct {
		from, to int32
		refused  string
		warnings []string
	}{
		{3, 5, "", []string{"this change adds 2 VMs"}},
		{3, 2, "", []string{"this change removes 1 VM: vg-2"}},
		{3, 0, "", []string{"this change removes 3 VMs: vg-0, vg-1, vg-2"}},
		{3, 900, `spec.replicas: Invalid value: 900: exceeds the maximum 50 of VmGroupPolicy "default"`, nil},
		{900, 70, "", []string{
			`spec.replicas: Invalid value: 70: exceeds the maximum 50 of VmGroupPolicy "default"`, "this change adds 67 VMs",
		}},
	} {
		got := s.validate(scaleRequest(t, c.from, c.to))
		if got.Allowed != (c.refused == "") || (!got.Allowed && got.Result.Message != c.refused) {
			t.Errorf("%d to %d: %+v", c.from, c.to, got.Result)
		}
		if !slices.Equal(got.Warnings, c.warnings) {
			t.Errorf("%d to %d: warnings %q", c.from, c.to, got.Warnings)
		}
	}
	if *stored.Spec.Replicas != 3 {
		t.Error("the Knowledge's group was changed")
	}
	stored.DeletionTimestamp = now()
	if !s.validate(scaleRequest(t, 3, 900)).Allowed {
		t.Error("a group that is being deleted is reviewed")
	}
}

func TestScaleOfAGroupThatIsNotKnownYet(t *testing.T) {
	s := serve(t, knowledgeWith(policyNamed("default", defaultPolicy())), nil)
	if got := s.validate(scaleRequest(t, 3, 51)); got.Allowed ||
		got.Result.Message != `spec.replicas: Invalid value: 51: exceeds the maximum 50 of VmGroupPolicy "default"` {
		t.Errorf("%+v", got.Result)
	}
	if got := s.validate(scaleRequest(t, 3, 50)); !got.Allowed || len(got.Warnings) > 0 {
		t.Errorf("%+v, %q", got.Result, got.Warnings)
	}
}

func TestOtherResourcesAreAnError(t *testing.T) {
	s := serve(t, knowledgeWith(), nil)
	for _, resource := range []string{"pods", "vcenters"} {
		request := requestFor(t, nil, aGroup())
		request.Resource.Resource = resource
		if got := s.validate(request); got.Allowed || got.Result.Code != 400 {
			t.Errorf("%s: %+v", resource, got.Result)
		}
	}
	status := requestFor(t, aGroup(), aGroup())
	status.SubResource = "status"
	if got := s.validate(status); got.Allowed {
		t.Error("status is reviewed")
	}
}

func TestDeletionIsNotJudged(t *testing.T) {
	s := serve(t, &knowledge{}, nil)
	request := requestFor(t, aGroup(), aGroup())
	request.Operation, request.Object.Raw = admissionv1.Delete, nil
	if got := s.validate(request); !got.Allowed {
		t.Errorf("%+v", got.Result)
	}
	if got := s.mutate(request); !got.Allowed || len(got.Patch) > 0 {
		t.Errorf("%+v", got)
	}
}

// TestAZeroThatWasWrittenIsNotFilledIn: the schema refuses it. Otherwise the VMs would differ from the object.
func TestAZeroThatWasWrittenIsNotFilledIn(t *testing.T) {
	s := serve(t, knowledgeWith(policyNamed("default", defaultPolicy())), nil)
	const zeros = `{"apiVersion":"vm.codeconnect.vmworld.com/v1alpha1","kind":"VmGroup","metadata":{"name":"vg"},
		"spec":{"replicas":1,"cpu":0,"memory":null,"template":"","vcenter":""}}`
	got := s.mutate(requestFor(t, nil, zeros))
	want := `[{"op":"add","path":"/spec/memory","value":4},{"op":"add","path":"/spec/vcenter","value":"default"}]`
	if !got.Allowed || string(got.Patch) != want || len(got.Warnings) > 0 {
		t.Errorf("allowed %v, patch %s, want %s, warnings %q", got.Allowed, got.Patch, want, got.Warnings)
	}
}

func TestPatchHoldsNothingButWhatWasMissing(t *testing.T) {
	s := serve(t, knowledgeWith(policyNamed("default", defaultPolicy())), nil)
	// An object that the operator encodes would have fields in status and spec that this object does not have, and lack one.
	const incomplete = `{"apiVersion":"vm.codeconnect.vmworld.com/v1alpha1","kind":"VmGroup","metadata":{"name":"vg","future":1},
		"spec":{"cpu":3,"replicas":0,"later":true},"status":{"conditions":[]}}`
	got := s.mutate(requestFor(t, nil, incomplete))
	want := `[{"op":"add","path":"/spec/memory","value":4},{"op":"add","path":"/spec/template","value":"linux-12"},` +
		`{"op":"add","path":"/spec/vcenter","value":"default"}]`
	if !got.Allowed || string(got.Patch) != want {
		t.Errorf("allowed %v, patch %s, want %s", got.Allowed, got.Patch, want)
	}
	if len(got.Warnings) > 0 {
		t.Errorf("what was left out warns: %q", got.Warnings)
	}
	if got := s.mutate(requestFor(t, nil, aGroup())); !got.Allowed || got.Patch != nil || got.PatchType != nil {
		t.Errorf("a complete object is patched: %s", got.Patch)
	}
	if s.count("mutate", testMember, defaulted) != 1 || s.count("mutate", testMember, allowed) != 1 {
		t.Error("verdicts are not counted")
	}
}

func TestWarningsAreShortAndPrintable(t *testing.T) {
	w := knowledgeWith(policyNamed("advice", v1alpha1.VmGroupPolicySpec{
		Mode: v1alpha1.PolicyWarn, Templates: &v1alpha1.PolicyTemplates{Allow: []string{strings.Repeat("ü", 300), "a\nb\x00c"}},
	}))
	w.quota = func(_, _ *v1alpha1.VmGroup) []policy.Violation {
		many := make([]policy.Violation, 0, 40)
		for i := range 40 {
			many = append(many, policy.Violation{Field: "spec.cpu", Value: int32(i % 20), Detail: hidden})
		}
		return many
	}
	got := serve(t, w, nil).validate(requestFor(t, nil, aGroup()))
	if !got.Allowed || len(got.Warnings) != maxWarnings+1 {
		t.Errorf("allowed %v with %d warnings", got.Allowed, len(got.Warnings))
	}
	for _, text := range got.Warnings {
		if len(text) > 256 || !shown(text) {
			t.Errorf("warning %q", text)
		}
	}
}

func TestMessagesOfManyViolationsAreBounded(t *testing.T) {
	w := knowledgeWith()
	w.quota = func(_, _ *v1alpha1.VmGroup) []policy.Violation {
		many := make([]policy.Violation, 0, 100)
		for i := range 100 {
			many = append(many, policy.Violation{Field: "spec.cpu", Value: int32(i), Detail: strings.Repeat("x", 60), Enforced: true})
		}
		return many
	}
	got := serve(t, w, nil).validate(requestFor(t, nil, aGroup()))
	if got.Allowed || len(got.Result.Message) > maxMessage || len(got.Result.Details.Causes) != 100 {
		t.Errorf("message of %d bytes, %d causes", len(got.Result.Message), len(got.Result.Details.Causes))
	}
	if want := fmt.Sprintf("spec.cpu: Invalid value: 0: %s", strings.Repeat("x", 60)); !strings.HasPrefix(got.Result.Message, want) {
		t.Errorf("the message does not begin with the first: %.100s", got.Result.Message)
	}
}

// The typed validators answer creates and deletes that the rules of a member never send.
func TestScaleIsNeitherCreatedNorDeleted(t *testing.T) {
	v := scaleValidator{}
	if _, err := v.ValidateCreate(t.Context(), &autoscalingv1.Scale{}); err != nil {
		t.Error(err)
	}
	if _, err := v.ValidateDelete(t.Context(), &autoscalingv1.Scale{}); err != nil {
		t.Error(err)
	}
}
