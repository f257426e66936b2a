package group

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// word is an annotation, of the group or of another object, that affects the group's VMs.
type word struct {
	name string
	// keeps is true if its user wants the VMs to stay.
	keeps bool
	set   func(*Snapshot)
}

func annotation(name, value string) func(*Snapshot) {
	return func(s *Snapshot) { metav1.SetMetaDataAnnotation(&s.Group.ObjectMeta, name, value) }
}

// paused is gather's result for annotation paused, and for a paused MemberCluster.
func pausedBy(s *Snapshot) { s.Paused = Paused(s.Group, s.Member, s.Paused != nil) }

func words() []word {
	const other = "00000000-0000-0000-0000-000000000001"
	return []word{
		{"confirm-deletion", false, annotation(v1alpha1.ConfirmDeletionAnnotation, "u")},
		{"confirm-deletion of another", false, annotation(v1alpha1.ConfirmDeletionAnnotation, other)},
		{"release", true, annotation(v1alpha1.ReleaseAnnotation, "u")},
		{"release of another", true, annotation(v1alpha1.ReleaseAnnotation, other)},
		{"release of nothing", true, annotation(v1alpha1.ReleaseAnnotation, "")},
		{"forget", true, annotation(v1alpha1.ForgetAnnotation, "u")},
		{"forget of another", true, annotation(v1alpha1.ForgetAnnotation, "true")},
		{"adopt", false, annotation(v1alpha1.AdoptAnnotation, other)},
		{"adopt=abandon", false, annotation(v1alpha1.AdoptAnnotation, v1alpha1.AdoptAbandon)},
		{"adopt=legacy", false, annotation(v1alpha1.AdoptAnnotation, v1alpha1.AdoptLegacy)},
		{"paused", true, func(s *Snapshot) { annotation(v1alpha1.PausedAnnotation, "true")(s); pausedBy(s) }},
		{"misspelled paused", true, func(s *Snapshot) { annotation(v1alpha1.PausedAnnotation, "yse")(s); pausedBy(s) }},
		{"the namespace is confirmed", false, func(s *Snapshot) { s.MassDeletion.NamespaceConfirms = "uid-of-team" }},
		{"the namespace has another's confirmation", false, func(s *Snapshot) { s.MassDeletion.NamespaceConfirms = other }},
		{"the member allows mass deletions", false, func(s *Snapshot) { s.MassDeletion.AllowedUntil = noon.Add(time.Minute) }},
		{"the member allows adoptions", false, func(s *Snapshot) {
			if s.Adoption != nil {
				s.Adoption.AllowedUntil = noon.Add(time.Minute)
			}
		}},
		{"the hub allows to forget", false, func(s *Snapshot) { s.Lost.AllowedUntil = noon.Add(time.Minute) }},
		{"the member is paused", true, func(s *Snapshot) { s.Paused = Paused(s.Group, s.Member, true) }},
	}
}

// whatBecomes returns what a pass does with the VMs of a group that is being deleted: they are Destroyed, stay without
// the group (Kept), or are left behind in an unreachable vCenter (Left). Any other value is the reason why they stay.
func whatBecomes(t *testing.T, s *Snapshot) string {
	t.Helper()
	s.Adoption = AdoptionOf(s.Group)
	d := Decide(s)
	switch {
	case d.Step == WriteReceipt && d.Receipt.Forgotten:
		return "Left"
	case d.Step == WriteReceipt:
		return "Kept"
	case d.Step != Act && d.Step != Report:
		t.Fatalf("the step is %s", d.Step)
	}
	for _, a := range d.Plan.Actions {
		switch a.Kind {
		case plan.MarkVM, plan.PowerOffVM, plan.ShutdownGuest, plan.DestroyVM:
			return "Destroyed"
		}
	}
	if s.Paused != nil {
		return s.Paused.Reason
	}
	status := &s.Group.Status
	if d.Status != nil {
		status = d.Status
	}
	for _, kind := range []string{v1alpha1.ConditionStalled, v1alpha1.ConditionReady} {
		if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
			return c.Reason
		}
	}
	return ""
}

// circumstances in which a group of the member is deleted. without is the result without any annotation.
var circumstances = []struct {
	name, without string
	set           func(*Snapshot)
}{
	{"it is deleted", "Destroyed", func(*Snapshot) {}},
	{"it is young", "Destroyed", func(s *Snapshot) { s.Group.CreationTimestamp = metav1.NewTime(noon) }},
	{"it was deleted a moment ago", v1alpha1.ReasonDeletionPending, func(s *Snapshot) { s.Group.Status.Conditions = nil }},
	{"many others are deleted, too", v1alpha1.ReasonMassDeletion, func(s *Snapshot) { s.MassDeletion.Trips = true }},
	{"its CRD was deleted and is back", v1alpha1.ReasonCRDTerminating, func(s *Snapshot) { s.Definition = definition(time.Minute) }},
	{"its vCenter is unreachable", v1alpha1.ReasonVCenterUnreachable, func(s *Snapshot) {
		s.Unavailable, s.Lost.Since = &plan.Blocker{Reason: v1alpha1.ReasonVCenterUnreachable, Message: "away"}, noon.Add(-2*ForgetAfter)
		s.OutOfSight = noon.Add(-time.Minute)
		s.See(vsphere.Observation{Incomplete: "away"})
	}},
	{"its VMs are retained", "", func(s *Snapshot) { s.Group.Spec.DeletionPolicy = v1alpha1.DeletionRetain }},
}

// oldGroup is an old group that is being deleted, and has waited for other deletions.
func oldGroup() *Snapshot {
	s := doomedGroup()
	s.Group.CreationTimestamp = metav1.NewTime(noon.Add(-2 * time.Hour))
	s.MassDeletion = MassDeletion{Rules: massdeletion.DefaultRules(), NamespaceUID: "uid-of-team"}
	s.Definition = definition(-3 * time.Hour)
	meta.SetStatusCondition(&s.Group.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionRemoving, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonDeleting, LastTransitionTime: metav1.NewTime(noon.Add(-time.Minute)),
	})
	return s
}

// matrix has the results for the VMs of a group that is being deleted, for each pair of annotations, and for each
// alone. vCenter responds. D: they are destroyed. K: they stay and the group is deleted. F, R and P: the group is held
// for forget, for release, or is paused. The order is that of words.
var matrix = []string{
	"D",       // confirm-deletion
	"DD",      // confirm-deletion of another
	"KKK",     // release
	"RR R",    // release of another
	"RR  R",   // release of nothing
	"FFKFFF",  // forget
	"FFKFF F", // forget of another
	"DDKRRFFD",
	"DDKRRFF D",
	"DDKRRFF  D",
	"PPPPPPPPPPP",        // paused
	"PPPPPPPPPP P",       // misspelled paused
	"DDKRRFFDDDPPD",      // the namespace is confirmed
	"DDKRRFFDDDPPDD",     // the namespace has another's confirmation
	"DDKRRFFDDDPPDDD",    // the member allows mass deletions
	"DDKRRFFDDDPPDDDD",   // the member allows adoptions
	"DDKRRFFDDDPPDDDDD",  // the hub allows to forget
	"PPPPPPPPPPPPPPPPPP", // the member is paused
}

// TestWhatBecomesOfVMsWithEachPairOfAnnotations: an annotation whose user wants the VMs to stay never leads to their
// destruction, regardless of other annotations.
func TestWhatBecomesOfVMsWithEachPairOfAnnotations(t *testing.T) {
	letters := map[string]byte{
		"Destroyed": 'D', "Kept": 'K', v1alpha1.ReasonForgetHeld: 'F', v1alpha1.ReasonReleaseHeld: 'R', v1alpha1.ReasonPaused: 'P', v1alpha1.ReasonMemberPaused: 'P',
	}
	all := words()
	for i, one := range all {
		for j, two := range all[:i+1] {
			for _, c := range circumstances {
				s := oldGroup()
				c.set(s)
				two.set(s)
				one.set(s)
				if i != j && overrides(one, two) {
					continue
				}
				got := whatBecomes(t, s)
				if got == "Destroyed" && (one.keeps || two.keeps) {
					t.Errorf("%s, with %q and %q: the VMs are destroyed", c.name, two.name, one.name)
				}
				if c.name == circumstances[0].name && letters[got] != matrix[i][j] {
					t.Errorf("%q and %q: %s, want %c", two.name, one.name, got, matrix[i][j])
				}
			}
		}
	}
}

// overrides reports whether two words are two values of the same annotation: a group has only one of them.
func overrides(one, two word) bool {
	alone := func(w word) map[string]string {
		s := oldGroup()
		w.set(s)
		return s.Group.Annotations
	}
	for key := range alone(one) {
		if _, both := alone(two)[key]; both {
			return true
		}
	}
	return false
}

func TestWhatBecomesOfVMsWithoutAnnotations(t *testing.T) {
	for _, c := range circumstances {
		if c.without == "" {
			continue
		}
		s := oldGroup()
		if c.set(s); whatBecomes(t, s) != c.without {
			t.Errorf("%s: %s, want %s", c.name, whatBecomes(t, s), c.without)
		}
	}
}

func TestAGroupThatShallBeForgottenInAVCenterThatRespondsSaysHowToDecide(t *testing.T) {
	for story, c := range map[string]struct {
		annotations map[string]string
		reason      string
		says        []string
	}{
		"forget": {map[string]string{v1alpha1.ForgetAnnotation: "u"}, v1alpha1.ReasonForgetHeld, []string{
			`VCenter "default" responds`, "kubectl annotate vmgroup web -n team vm.codeconnect.vmworld.com/forget-",
		}},
		"forget of another": {map[string]string{v1alpha1.ForgetAnnotation: "v"}, v1alpha1.ReasonForgetHeld, []string{
			`annotation vm.codeconnect.vmworld.com/forget is "v", which is not the UID`, "kubectl annotate vmgroup web -n team vm.codeconnect.vmworld.com/forget-",
		}},
		"release of another": {map[string]string{v1alpha1.ReleaseAnnotation: "v"}, v1alpha1.ReasonReleaseHeld, []string{
			`annotation vm.codeconnect.vmworld.com/release is "v", which is not the UID`, "kubectl annotate vmgroup web -n team vm.codeconnect.vmworld.com/release-",
		}},
		"both": {map[string]string{v1alpha1.ForgetAnnotation: "u", v1alpha1.ReleaseAnnotation: "v"}, v1alpha1.ReasonForgetHeld, []string{
			"kubectl annotate vmgroup web -n team vm.codeconnect.vmworld.com/forget- vm.codeconnect.vmworld.com/release-",
		}},
	} {
		t.Run(story, func(t *testing.T) {
			s := oldGroup()
			s.Group.Annotations = c.annotations
			d := Decide(s)
			if len(d.Plan.Actions) > 0 {
				t.Errorf("done is %v", d.Plan.Actions)
			}
			for _, kind := range []string{v1alpha1.ConditionStalled, v1alpha1.ConditionReady} {
				is := meta.FindStatusCondition(d.Status.Conditions, kind)
				if is == nil || is.Reason != c.reason {
					t.Fatalf("%s is %+v", kind, is)
				}
				for _, words := range append(c.says, "To keep the VMs: kubectl annotate vmgroup web -n team --overwrite vm.codeconnect.vmworld.com/release=u") {
					if !strings.Contains(is.Message, words) {
						t.Errorf("%s does not say %q: %s", kind, words, is.Message)
					}
				}
			}
		})
	}
}

// After removal of the annotation, the user has ten seconds to correct that, and every replica sees the leaving VMs.
func TestTheWaitBeginsWhenTheAnnotationIsRemoved(t *testing.T) {
	s := oldGroup()
	annotation(v1alpha1.ForgetAnnotation, "u")(s)
	d := Decide(s)
	if c := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionRemoving); c != nil {
		t.Errorf("it counts as leaving while it is held: %+v", c)
	}
	s.Group.Status, s.Group.Annotations = *d.Status, nil
	s.Now = noon.Add(time.Hour)
	if got := whatBecomes(t, s); got != v1alpha1.ReasonDeletionPending {
		t.Errorf("without the annotation: %s", got)
	}
	s.Group.Status = *Decide(s).Status
	if s.Now = s.Now.Add(9 * time.Second); whatBecomes(t, s) != v1alpha1.ReasonDeletionPending {
		t.Error("the wait is shorter than ten seconds")
	}
	if s.Now = s.Now.Add(time.Second); whatBecomes(t, s) != "Destroyed" {
		t.Error("the wait does not end")
	}
}

func TestAMassDeletionIsHeldAgainWhenTheAnnotationIsRemoved(t *testing.T) {
	s := oldGroup()
	s.MassDeletion.Trips = true
	s.Group.Status = *Decide(s).Status
	annotation(v1alpha1.ForgetAnnotation, "u")(s)
	if got := whatBecomes(t, s); got != v1alpha1.ReasonForgetHeld {
		t.Errorf("with the annotation: %s", got)
	}
	s.Group.Status = *Decide(s).Status
	s.Group.Annotations, s.MassDeletion.Trips = nil, false // the other annotations have been processed
	if got := whatBecomes(t, s); got != v1alpha1.ReasonMassDeletion {
		t.Errorf("without the annotation: %s", got)
	}
}

// A release that is withdrawn while it waits for an operation confirms nothing.
func TestWhatWasHeldIsHeldAgainWhenAReleaseIsTakenBack(t *testing.T) {
	for _, reason := range []string{v1alpha1.ReasonMassDeletion, v1alpha1.ReasonCRDTerminating} {
		s := oldGroup()
		if s.MassDeletion.Trips = true; reason == v1alpha1.ReasonCRDTerminating {
			s.Definition = &DefinitionAnswer{Missing: true}
		}
		s.Group.Status = *Decide(s).Status
		annotation(v1alpha1.ReleaseAnnotation, string(s.Group.UID))(s)
		s.Observation.InFlight = []vsphere.Operation{{Kind: vsphere.OpPowerOn, Ordinal: 0}}
		s.See(s.Observation)
		if d := Decide(s); d.Status != nil {
			s.Group.Status = *d.Status
		}
		s.Observation.InFlight = nil
		s.See(s.Observation)
		s.Group.Annotations, s.MassDeletion.Trips = nil, false
		s.Definition = &DefinitionAnswer{}
		if got := whatBecomes(t, s); got != reason {
			t.Errorf("without the annotation: %s, want %s", got, reason)
		}
	}
}

// Retain destroys nothing, so no decision is needed.
func TestAGroupThatRetainsItsVMsIsNotHeldForAnAnnotation(t *testing.T) {
	for _, name := range []string{v1alpha1.ForgetAnnotation, v1alpha1.ReleaseAnnotation} {
		s := oldGroup()
		s.Group.Spec.DeletionPolicy = v1alpha1.DeletionRetain
		annotation(name, "v")(s)
		if d := Decide(s); len(d.Plan.Actions) != 1 || d.Plan.Actions[0].Kind != plan.ReleaseVM {
			t.Errorf("%s: %v, %+v", name, d.Plan.Actions, d.Plan.Blockers)
		}
	}
}

// It was marked before the annotation was set. A mark is final, but not urgent.
func TestAVMThatIsMarkedWaitsWhileItsGroupIsHeld(t *testing.T) {
	s := oldGroup()
	s.Observation.VMs[0].Tombstone, s.Observation.VMs[0].Power = true, vsphere.PoweredOff
	s.See(s.Observation)
	annotation(v1alpha1.ForgetAnnotation, "u")(s)
	if got := whatBecomes(t, s); got != v1alpha1.ReasonForgetHeld {
		t.Error(got)
	}
}
