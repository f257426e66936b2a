//go:build unix

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// row is the row of a group in the table.
type row struct {
	member, group, phase    string
	current, desired, ready int32
	// reason of condition Ready, or "" if the group is as specified.
	reason, vms, message string
	// trouble names short-lived states that viewers of the demo wait for: lost or unhealthy VMs, and repairs.
	trouble string
}

func newRow(member string, g *v1alpha1.VmGroup) row {
	s := g.Status
	r := row{
		member: member, group: g.Name, phase: string(s.Phase), current: s.CurrentReplicas, desired: s.DesiredReplicas, ready: s.ReadyReplicas,
		vms: vmWords(s.VMs), message: plain(s.LastMessage),
	}
	if ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Reason != v1alpha1.ReasonAllVMsReady {
		r.reason = ready.Reason
	}
	ill := slices.DeleteFunc(slices.Clone(s.VMs), func(vm v1alpha1.VMStatus) bool {
		return vm.Phase != v1alpha1.VMLost && vm.Phase != v1alpha1.VMUnhealthy
	})
	if r.trouble = vmWords(ill); r.reason == v1alpha1.ReasonRepairing {
		r.trouble += " " + r.reason
	}
	return r
}

// busy reports whether the group shows activity.
func (r row) busy() bool { return r.phase != string(v1alpha1.PhaseRunning) || r.reason != "" }

// vmWords shows VMs by phase, for example 3:Lost 0-2,4:Ready. Ready VMs come last, where the text can be cut off.
func vmWords(vms []v1alpha1.VMStatus) string {
	phases := make([]v1alpha1.VMPhase, 0, len(vms))
	ordinals := map[v1alpha1.VMPhase][]int32{}
	for _, vm := range vms {
		if ordinals[vm.Phase] == nil {
			phases = append(phases, vm.Phase)
		}
		ordinals[vm.Phase] = append(ordinals[vm.Phase], vm.Ordinal)
	}
	if i := slices.Index(phases, v1alpha1.VMReady); i >= 0 {
		phases = append(slices.Delete(phases, i, i+1), v1alpha1.VMReady)
	}
	words := make([]string, 0, len(phases))
	for _, phase := range phases {
		words = append(words, fmt.Sprintf("%s:%s", ranges(ordinals[phase]), phase))
	}
	return strings.Join(words, " ")
}

// ranges formats ordinals, for example 0, 1, 2 and 4 as 0-2,4.
func ranges(ordinals []int32) string {
	slices.Sort(ordinals)
	var words []string
	for first := 0; first < len(ordinals); {
		last := first
		for last+1 < len(ordinals) && ordinals[last+1] == ordinals[last]+1 {
			last++
		}
		word := strconv.Itoa(int(ordinals[first]))
		if last > first {
			word += "-" + strconv.Itoa(int(ordinals[last]))
		}
		words = append(words, word)
		first = last + 1
	}
	return strings.Join(words, ",")
}

// plain returns a text as one line, because the table counts the drawn lines.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

// shorten truncates a text to n characters.
func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:max(n-1, 0)]) + "…"
	}
	return s
}
