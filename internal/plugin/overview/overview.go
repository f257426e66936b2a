package overview

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/conditions"
	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Overview is the state of a fleet.
type Overview struct {
	// Items have the worst first. Objects that are well are counted in one item of each kind.
	Items []Item
	// Groups is the number of VmGroups of all members, and NotReady that of those that are not ready.
	Groups, NotReady int
	// Next is the command to run next, or empty.
	Next string
}

// Item is a line of the overview, with lines that explain it.
type Item struct {
	Mark term.Mark
	// Title names the object or the objects, and Summary their state.
	Title, Summary string
	// Lines have the details: sentences, and VmGroups with their reasons.
	Lines []string
}

// Well reports whether no item needs a person.
func (o Overview) Well() bool {
	return !slices.ContainsFunc(o.Items, func(i Item) bool { return i.Mark != term.OK && i.Mark != term.Note })
}

// most is the number of VmGroups that an item names.
const most = 3

// Of returns the overview of the objects of a hub.
func Of(members []v1alpha1.MemberCluster, vcenters []v1alpha1.VCenter, times term.Times) Overview {
	b := builder{times: times, down: map[string]bool{}}
	b.vcenters(vcenters)
	b.members(members)
	slices.SortStableFunc(b.Items, func(a, b Item) int { return cmp.Compare(rank(a.Mark), rank(b.Mark)) })
	return b.Overview
}

func rank(m term.Mark) int {
	return slices.Index([]term.Mark{term.Bad, term.Unknown, term.Warn, term.Note, term.OK}, m)
}

type builder struct {
	Overview
	times term.Times
	// down are the VCenters that are not ready.
	down map[string]bool
}

func (b *builder) add(m term.Mark, title, summary string, lines ...string) {
	b.Items = append(b.Items, Item{Mark: m, Title: title, Summary: summary, Lines: lines})
}

func (b *builder) next(command string) { b.Next = cmp.Or(b.Next, command) }

func (b *builder) vcenters(all []v1alpha1.VCenter) {
	well, ready, desired := 0, int32(0), int32(0)
	for i := range all {
		vc := &all[i]
		found := conditions.Troubles(vc.Status.Conditions, conditions.OfVCenter)
		b.down[vc.Name] = len(found) > 0 && found[0].Type == v1alpha1.ConditionReady
		if len(found) == 0 {
			well, ready, desired = well+1, ready+vc.Status.ReadyVMs, desired+vc.Status.DesiredVMs
			continue
		}
		lines := b.sentences(found)
		if b.down[vc.Name] && vc.Status.NotReady != nil {
			lines = append(lines, b.waiting(vc.Status.NotReady))
		}
		b.add(conditions.Mark(found), "VCenter "+vc.Name, b.summary(found), lines...)
		b.next("kubectl describe vcenter " + vc.Name)
	}
	if well > 0 {
		b.add(term.OK, term.Count(well, "VCenter"), fmt.Sprintf("%d of %d VMs ready", ready, desired))
	}
}

// waiting names the first of the groups that are not ready.
func (b *builder) waiting(n *v1alpha1.NotReadyGroups) string {
	text := term.Count(int(n.Groups), "group") + " not ready: "
	for i, g := range n.Worst[:min(most, len(n.Worst))] {
		if i > 0 {
			text += ", "
		}
		text += untrusted.Text(g.Member+"/"+g.Namespace+"/"+g.Name, 200)
	}
	if rest := int(n.Groups) - min(most, len(n.Worst)); rest > 0 {
		text += fmt.Sprintf(", and %d more", rest)
	}
	return text
}

func (b *builder) members(all []v1alpha1.MemberCluster) {
	well, waiting := tally{}, tally{}
	for i := range all {
		mc := &all[i]
		b.Groups += int(mc.Status.Groups)
		own, others := b.notReady(mc.Status.NotReady)
		b.NotReady += own + others
		found := conditions.Troubles(mc.Status.Conditions, conditions.OfMember)
		title := "Member " + mc.Name
		switch {
		case len(found) > 0 && found[0].Type == v1alpha1.ConditionReady:
			lines := append(b.sentences(found), fmt.Sprintf("%s, %s: they stay as they are", term.Count(int(mc.Status.Groups), "group"), term.Count(int(mc.Status.VMs), "VM")))
			b.add(conditions.Mark(found), title, b.summary(found), lines...)
			b.next("kubectl vmgroup member check " + mc.Name)
		case len(found) > 0:
			b.add(conditions.Mark(found), title, b.summary(found), append(b.sentences(found), b.groups(mc.Status.NotReady)...)...)
			b.next("kubectl vmgroup member check " + mc.Name)
		case own > 0:
			b.add(term.Warn, title, fmt.Sprintf("%d of %s not ready", own, term.Count(int(mc.Status.Groups), "group")), b.groups(mc.Status.NotReady)...)
			b.next("kubectl vmgroup get -A --not-ready --context CONTEXT-OF-" + mc.Name)
		case others > 0:
			waiting.add(mc)
		default:
			well.add(mc)
		}
	}
	if waiting.members > 0 {
		b.add(term.Warn, term.Count(waiting.members, "member"), "groups that are not ready wait for a VCenter above")
	}
	if well.members > 0 {
		b.add(term.OK, term.Count(well.members, "member"), fmt.Sprintf("%s, %d of %d VMs ready", term.Count(well.groups, "group"), well.ready, well.desired))
	}
}

// tally counts members and what they have.
type tally struct{ members, groups, ready, desired int }

func (t *tally) add(mc *v1alpha1.MemberCluster) {
	t.members++
	t.groups += int(mc.Status.Groups)
	t.ready += int(mc.Status.ReadyVMs)
	t.desired += int(mc.Status.DesiredVMs)
}

// notReady counts the groups that are not ready. others are those for which the VCenter is the reason. If status does not name all groups, and those that it
// names wait for VCenters, all of them count as waiting.
func (b *builder) notReady(n *v1alpha1.NotReadyGroups) (own, others int) {
	if n == nil {
		return 0, 0
	}
	for _, g := range n.Worst {
		if b.down[g.VCenter] {
			others++
		}
	}
	if others == len(n.Worst) {
		return 0, int(n.Groups)
	}
	return int(n.Groups) - others, others
}

// groups returns a line for each of the first groups that are not ready and do not wait for a VCenter.
func (b *builder) groups(n *v1alpha1.NotReadyGroups) (lines []string) {
	if n == nil {
		return nil
	}
	own, _ := b.notReady(n)
	for _, g := range n.Worst {
		if !b.down[g.VCenter] && len(lines) < most {
			lines = append(lines, untrusted.Text(g.Namespace+"/"+g.Name, 200)+"   "+untrusted.Text(g.Reason, 60)+", "+b.times.For(g.Since.Time))
		}
	}
	if rest := own - len(lines); rest > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", rest))
	}
	return lines
}

func (b *builder) sentences(found []metav1.Condition) (lines []string) {
	for i := range found {
		c := &found[i]
		text := conditions.Message(c)
		if i > 0 { // the summary has the first
			text = untrusted.Text(c.Type, 60) + ": " + conditions.Since(c, b.times) + ": " + text
		}
		if text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

func (b *builder) summary(found []metav1.Condition) string {
	return conditions.Since(&found[0], b.times)
}
