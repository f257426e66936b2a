package govmomi_test

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/mo"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// edited is a rig whose template was changed before the operator connects.
func edited(t *testing.T, change func(*rig) error, opts ...option) *rig {
	t.Helper()
	r := newRig(t, govmomi.Watch, opts...)
	r.stop()
	must(t, change(r))
	r.start()
	return r.ensure()
}

func (r *rig) hardware(name string) (cpus, cores int32) {
	r.t.Helper()
	vm, err := newFinder(r).VirtualMachine(r.ctx, vmPath+name)
	must(r.t, err)
	var props mo.VirtualMachine
	must(r.t, vm.Properties(r.ctx, vm.Reference(), []string{"config.hardware"}, &props))
	return props.Config.Hardware.NumCPU, *props.Config.Hardware.NumCoresPerSocket
}

// Each clone of such a template failed with "A specified parameter was not correct".
func TestATemplateWithFourCoresPerSocketIsClonedWithAnyNumberOfCPUs(t *testing.T) {
	r := edited(t, func(r *rig) error { return r.person.SetSockets(r.ctx, templatePath, 4, 4) })
	for ordinal, c := range []struct{ cpus, cores int32 }{{2, 2}, {4, 4}, {6, 3}, {3, 3}, {8, 4}} {
		for _, linked := range []bool{false, true} {
			req := r.request(int32(2 * ordinal))
			if linked {
				req = r.request(int32(2*ordinal + 1))
			}
			req.CPU, req.Linked = c.cpus, linked
			must(t, r.server.Clone(r.ctx, req))
			vm := r.settled(req.Stamp.Ordinal)
			cpus, cores := r.hardware(vm.Name)
			if cpus != c.cpus || !linked && cores != c.cores {
				t.Errorf("%d CPUs: the VM has %d with %d cores per socket, want %d", c.cpus, cpus, cores, c.cores)
			}
		}
	}
	if f := r.observe().Failures; len(f) > 0 {
		t.Errorf("failures are %+v", f)
	}
}

func TestAGroupChoosesItsSockets(t *testing.T) {
	r := edited(t, func(r *rig) error { return r.person.SetSockets(r.ctx, templatePath, 4, 4) })
	for ordinal, linked := range []bool{false, true} {
		req := r.request(int32(ordinal))
		req.CPU, req.CoresPerSocket, req.Linked = 4, 2, linked
		must(t, r.server.Clone(r.ctx, req))
		vm := r.settled(req.Stamp.Ordinal)
		if cpus, cores := r.hardware(vm.Name); cpus != 4 || cores != 2 || vm.HotAdd.CoresPerSocket != 2 {
			t.Errorf("linked %v: the VM has %d CPUs with %d cores per socket and is observed with %d, want 4 with 2", linked, cpus, cores, vm.HotAdd.CoresPerSocket)
		}
	}
}

func TestATemplateWithAnAddressThatAPersonSetIsNotCloned(t *testing.T) {
	r := edited(t, func(r *rig) error { return r.person.SetMAC(r.ctx, templatePath, "00:50:56:00:00:01") })
	template, err := r.server.Template("vm-operator-template")
	must(t, err)
	if !strings.Contains(template.Unfit, "MAC address that was set by hand") || template.UnfitLinked != "" {
		t.Errorf("of the template it is said %q, and of its snapshot %q", template.Unfit, template.UnfitLinked)
	}
	wantKind(t, r.server.Clone(r.ctx, r.request(0)), vsphere.KindSpec)
	if n := r.proxy.Count("CloneVM_Task", agent); n != 0 {
		t.Errorf("%d clones were submitted", n)
	}
	req := r.request(1)
	req.Linked = true // its snapshot is older
	must(t, r.server.Clone(r.ctx, req))
}

func TestEachVMHasAVirtualTPMOfItsOwn(t *testing.T) {
	withTPM := func(r *rig) error { return r.person.AddTPM(r.ctx, templatePath) }
	for version, own := range map[string]bool{"8.0.3.0": true, "8.0.0.1": true, "9.0.0.0": true, "7.0.3.0": false} {
		r := edited(t, withTPM, granted(vsphere.PrivilegeCrypto), func(o *sim.Options, _ *govmomi.Config) { o.APIVersion = version })
		id, err := r.person.TPM(r.ctx, vmPath+r.clone(0).Name)
		must(t, err)
		from, err := r.person.TPM(r.ctx, templatePath)
		must(t, err)
		if id == "" || (id != from) != own {
			t.Errorf("%s: the VM has TPM %q, and its template %q", version, id, from)
		}
	}
	r := edited(t, withTPM)
	err := r.server.Clone(r.ctx, r.request(0))
	wantKind(t, err, vsphere.KindPermission)
	if !strings.Contains(err.Error(), vsphere.PrivilegeCrypto+" (the template is encrypted") {
		t.Errorf("the error is %q", err)
	}
}
