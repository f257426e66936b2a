//go:build unix && slow

package massdeletion

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	template = "vm-operator-template"
	// root is the operator's folder in vCenter.
	root = "/DC0/vm/vm-operator"
)

// Members, each for one story.
const (
	pruned, trimmed, emptied, single, swept, reapplied = "pruned", "trimmed", "emptied", "single", "swept", "reapplied"
)

// shared is the stack of all stories.
var shared = stack.Share(stack.Options{
	Members: []string{pruned, trimmed, emptied, single, swept, reapplied}, Replicas: 2, ManagerArgs: []string{"--mass-deletion-age=0s"},
	Sim: sim.Options{Templates: []string{template}, CloneDelay: 20 * time.Millisecond, Privileges: slices.Concat(sim.OperatorPrivileges, sim.AdoptionPrivileges)},
	// The simulator's watch takes time quadratic in the number of VMs.
	VCenter: func(s *v1alpha1.VCenterSpec) {
		s.Inventory = v1alpha1.Inventory{Mode: v1alpha1.InventoryPoll, PollSeconds: 1}
		s.Limits = v1alpha1.VCenterLimits{Tasks: 32, TasksPerHost: 32}
	},
}, nil)

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }
