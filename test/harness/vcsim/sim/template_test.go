package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestATemplateIsNeitherConfiguredNorStarted(t *testing.T) {
	h := person(t, sim.Options{})
	stamp := types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "k", Value: "v"}}}
	refused[*types.InvalidPowerState](t, func() error { must(t, h.PowerOn(h.ctx, ordinary)); return h.MarkAsTemplate(h.ctx, ordinary) }())
	must(t, h.PowerOff(h.ctx, ordinary))
	must(t, h.MarkAsTemplate(h.ctx, ordinary))
	refused[*types.NotSupported](t, h.reconfigure(ordinary, stamp))
	refused[*types.InvalidState](t, h.PowerOn(h.ctx, ordinary))
	must(t, h.MarkAsVM(h.ctx, ordinary))
	must(t, h.reconfigure(ordinary, stamp))
}

func TestWhoWatchesAVMLearnsThatItWasConverted(t *testing.T) {
	h := person(t, sim.Options{})
	vm := h.vm(ordinary).Reference()
	var seen []bool
	ctx, cancel := context.WithTimeout(h.ctx, time.Minute)
	defer cancel()
	err := property.Wait(ctx, property.DefaultCollector(h.Client()), vm, []string{"config.template"}, func(changes []types.PropertyChange) bool {
		for _, c := range changes {
			is, _ := c.Val.(bool)
			seen = append(seen, is)
		}
		switch len(seen) {
		case 1:
			go func() { _ = h.MarkAsTemplate(h.ctx, ordinary) }()
		case 2:
			go func() { _ = h.MarkAsVM(h.ctx, ordinary) }()
		}
		return len(seen) == 3
	})
	if err != nil || len(seen) != 3 || seen[0] || !seen[1] || seen[2] {
		t.Errorf("the watch reported %v, %v; want that it became a template and a VM again", seen, err)
	}
}
