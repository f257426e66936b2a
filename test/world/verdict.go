package world

import (
	"fmt"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/history"
)

// judge returns the violations of a lock for each group in a history.
func judge(h history.History) (wrong []string) {
	for _, o := range h.Overlaps() {
		wrong = append(wrong, o.String())
	}
	if ok, _ := h.Linearizable(time.Minute); !ok {
		wrong = append(wrong, "the history is not one that a lock for each group allows, or its epochs fall")
	}
	if len(h.Calls) == 0 {
		wrong = append(wrong, "no call was made: the story says nothing")
	}
	return wrong
}

// Unsettled describes the groups that do not match their spec.
func (w *World) Unsettled() (wrong []string) {
	for _, g := range w.Member.Groups() {
		if !fulfilled(g) {
			wrong = append(wrong, fmt.Sprintf("%s wants %d VMs, has %d; phase %s, deleted %v, message %q", g.Name, *g.Spec.Replicas,
				g.Status.ReadyReplicas, g.Status.Phase, g.DeletionTimestamp, g.Status.LastMessage))
		}
	}
	return wrong
}

func fulfilled(g *v1alpha1.VmGroup) bool {
	n := *g.Spec.Replicas
	return g.DeletionTimestamp == nil && g.Status.ObservedGeneration == g.Generation && g.Status.Phase == v1alpha1.PhaseRunning &&
		g.Status.Replicas == n && g.Status.ReadyReplicas == n && int(n) == len(g.Status.VMs) && len(g.Status.Deleting) == 0
}

// WrongVMs compares vCenter with the specs and statuses of the groups.
func (w *World) WrongVMs() (wrong []string) {
	wanted := map[string]string{}
	for _, g := range w.Member.Groups() {
		for _, vm := range g.Status.VMs {
			wanted[vm.MoRef] = string(g.UID)
		}
	}
	for _, vm := range w.VCenter.VMs() {
		uid, ok := wanted[vm.Ref.Value]
		switch {
		case !ok:
			wrong = append(wrong, vm.Name+" belongs to no group: an orphan, or surplus")
		case vm.Stamp == nil || vm.Stamp.Group != uid:
			wrong = append(wrong, vm.Name+" does not carry the stamp of group "+uid)
		}
		delete(wanted, vm.Ref.Value)
	}
	for ref, uid := range wanted {
		wrong = append(wrong, ref+" of group "+uid+" is missing")
	}
	return wrong
}

// Settle lets time pass until every group matches its spec, and returns the time that took. It returns false if that takes longer than patience.
func (w *World) Settle(patience time.Duration) (took time.Duration, ok bool) {
	begin := time.Now()
	for len(w.Unsettled()) > 0 {
		if time.Since(begin) >= patience {
			return patience, false
		}
		w.Pass(250 * time.Millisecond)
	}
	return time.Since(begin), true
}

// Shared lets time pass until the living replicas share all buckets evenly and can act on them. It returns false if that takes longer than patience.
func (w *World) Shared(patience time.Duration) bool {
	for begin := time.Now(); ; w.Pass(250 * time.Millisecond) {
		least, most, sum := buckets, 0, 0
		for _, r := range w.Alive() {
			status := r.Status()
			if status.Left <= 0 {
				status.Held = 0
			}
			least, most, sum = min(least, status.Held), max(most, status.Held), sum+status.Held
		}
		if sum == buckets && most-least <= 1 {
			return true
		}
		if time.Since(begin) >= patience {
			return false
		}
	}
}

func sentences(wrong []string) string { return strings.Join(wrong, "; ") }
