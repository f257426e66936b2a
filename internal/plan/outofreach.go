package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// outOfReach names the VMs that vCenter cannot reach, by connection state, with the remedy for each state.
func outOfReach(members []*member) string {
	var states []vsphere.Connection
	by := map[vsphere.Connection][]*member{}
	for _, m := range members {
		state := m.vm.Connection
		if by[state] == nil {
			states = append(states, state)
		}
		by[state] = append(by[state], m)
	}
	slices.Sort(states)
	parts := make([]string, len(states))
	for i, state := range states {
		parts[i] = fmt.Sprintf("%s (%s; ask a hub administrator to %s)", enumerate(labels(by[state])), state.Problem(), state.WayOut())
	}
	return strings.Join(parts, "; ")
}
