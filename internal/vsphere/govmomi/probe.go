package govmomi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	needs "github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
)

const (
	// defaultProbeTime is the time after which a probe sends no more requests.
	defaultProbeTime = 3 * time.Minute
	// cleanUpTime is the last part of that time, in which the probe creates nothing.
	cleanUpTime = 45 * time.Second
	// toolsTime is the maximum wait for VMware Tools.
	toolsTime = time.Minute
	// probeVM is the name of the VM in the probe's folder.
	probeVM = "vmgroup-check"
	// keyProbe is the extraConfig key with the name of the probe's folder. Such a VM has no stamp of the operator.
	keyProbe = "vmgroup.check"
	// keyProbeGuest is a value that a guest could write.
	keyProbeGuest = "guestinfo.vmgroup.check"
)

var (
	errProbeOver   = errors.New("the time of the probe is over")
	errNoTemplate  = errors.New("there is no template that a VM can be cloned from")
	errTaskForgot  = errors.New("vCenter no longer has the task, and its outcome is unknown")
	errTaskHidden  = errors.New("vCenter does not show what became of the task")
	errNoCloneName = errors.New("the task of the clone names no VM")
)

// prober creates one VM and removes it.
type prober struct {
	*surveyor
	name     string
	template templateEntry
	placed   vsphere.ResolvedPlacement
	folder   vsphere.Ref
	vm       vsphere.Ref
	version  string
	// cloning is true while a clone of this probe can run. task is its task, if known.
	cloning bool
	task    vsphere.Ref
	// from and until limit the time in which this probe can send requests, by vCenter's clock.
	from, until time.Time
	found       *survey.Probe
}

// probe creates one VM as the operator would, inspects it, and removes it, even if a step fails or ctx ends. If the
// process is killed, a later check finds the leftovers by name.
func (s *surveyor) probe(ctx context.Context) {
	if s.o.ProbeTime <= 0 {
		s.o.ProbeTime = defaultProbeTime
	}
	f := &survey.Probe{}
	s.facts.Probe = f
	p := &prober{surveyor: s, found: f, from: s.vcenterNow()}
	p.until = p.from.Add(s.o.ProbeTime)
	p.name = probeName(p.until)
	end := s.o.Now().Add(s.o.ProbeTime)
	fenced := vsphere.WithFence(ctx, func() error {
		if !s.o.Now().Before(end) {
			return errProbeOver
		}
		return nil
	})
	making, cancel := context.WithTimeout(fenced, s.o.ProbeTime-min(cleanUpTime, s.o.ProbeTime/2))
	p.run(making)
	cancel()
	// This also runs after a signal.
	clean, cancel := context.WithDeadline(context.WithoutCancel(fenced), end)
	defer cancel()
	f.Left = problemOf(p.remove(clean))
}

// probeStep is one step of a probe.
type probeStep struct {
	name string
	do   func(context.Context) error
}

func (p *prober) run(ctx context.Context) {
	for _, step := range []probeStep{
		{"choose a template", p.choose},
		{"create a folder", p.makeFolder},
		{"clone a VM", p.clone},
		{"check the VM", p.inspect},
		{"power on the VM", p.powerOn},
		{"wait for the guest", p.awaitGuest},
		{"write guestinfo", p.writeGuestInfo},
		{"power off the VM", p.powerOff},
		{"mark the VM", p.mark},
		{"destroy the VM", p.destroy},
	} {
		if err := step.do(ctx); err != nil {
			p.found.Failed, p.found.Problem = step.name, problemOf(err)
			return
		}
	}
}

func (p *prober) choose(context.Context) (err error) {
	if p.placed, err = p.server.Placement(vsphere.Placement{}); err != nil {
		return err
	}
	for _, t := range p.read {
		if t.Unfit == "" && (p.outOfReach(t) == "" || !p.placed.Datastore.IsZero()) && p.server.cat.get().hosts[vsphere.Ref{Type: typeHost, Value: t.Host}] == "" {
			p.template = t
			p.found.Template = survey.Object{Kind: needs.Template, Path: t.Path, Ref: t.Ref.String()}
			return nil
		}
	}
	return errNoTemplate
}

func (p *prober) makeFolder(ctx context.Context) error {
	resp, err := methods.CreateFolder(ctx, p.conn.client, &types.CreateFolder{This: toRef(p.home), Name: p.name})
	if err != nil {
		return err
	}
	p.folder = fromRef(resp.Returnval)
	return nil
}

func (p *prober) clone(ctx context.Context) error {
	i := slices.IndexFunc(p.facts.Templates, func(t survey.Template) bool { return t.Path == p.template.Path })
	req := vsphere.CloneRequest{
		Template: p.template.Template, Folder: p.folder, Name: probeVM, UUID: uuid.NewString(), Placement: p.placed,
	}
	if i >= 0 {
		req.CPU, req.MemoryMiB = int32(p.facts.Templates[i].CPUs), p.facts.Templates[i].MemoryMiB
	}
	if err := p.server.hostsReady(ctx, p.conn, req); err != nil {
		return err
	}
	extra := []inventory.KV{{Key: keyProbe, Value: p.name}}
	for _, key := range inventory.Keys {
		extra = append(extra, inventory.KV{Key: key}) // values that a template inherited from a VM of the operator
	}
	spec, err := p.server.cloneSpec(ctx, p.conn, req, p.template, extra)
	if err != nil {
		return err
	}
	began := p.o.Now()
	p.cloning = true
	task, err := sendClone(ctx, p.conn, req, spec)
	if err != nil {
		p.cloning = !isFault(err)
		return err
	}
	p.task = fromRef(task)
	ended, err := p.await(ctx, p.task, p.lookMidClone)
	if failed := (taskError{}); err == nil || errors.As(err, &failed) {
		p.cloning = false
	}
	if err != nil {
		return err
	}
	p.found.Cloned, p.found.CloneTook = true, p.o.Now().Sub(began)
	if p.vm = ended.refOf(taskResult); p.vm.IsZero() {
		return errNoCloneName
	}
	o, err := exact(ctx, p.conn.client, p.vm, propInstanceUUID)
	p.found.UUIDKept = err == nil && o.text(propInstanceUUID) == req.UUID
	return nil
}

// lookMidClone notes what vCenter shows of a VM during its clone.
func (p *prober) lookMidClone(ctx context.Context) {
	o, err := exact(ctx, p.conn.client, p.folder, propChildren)
	if err != nil {
		return
	}
	for _, child := range o.refsOf(propChildren) {
		p.found.SeenMidClone = true
		if vm, err := exact(ctx, p.conn.client, child, propChangeVersion); err == nil && vm.has(propChangeVersion) {
			p.found.ConfigMidClone = true
		}
	}
}

// inspect compares the VM with its template.
func (p *prober) inspect(ctx context.Context) error {
	o, err := exact(ctx, p.conn.client, p.vm, propDevices, propChangeVersion)
	if err != nil {
		return err
	}
	template, err := exact(ctx, p.conn.client, p.template.Ref, propDevices)
	if err != nil {
		return err
	}
	p.version = o.text(propChangeVersion)
	has, hadMACs := hardwareOf(o), macsOf(template)
	p.found.KeysKept = slices.Equal(has.disks.keys, p.template.full.disks.keys)
	p.found.MACNew = !slices.ContainsFunc(macsOf(o), func(mac string) bool { return slices.Contains(hadMACs, mac) })
	return nil
}

func macsOf(o object) (out []string) {
	devices, _ := devicesOf(o)
	for _, d := range devices {
		if card, ok := d.(types.BaseVirtualEthernetCard); ok && card.GetVirtualEthernetCard().MacAddress != "" {
			out = append(out, card.GetVirtualEthernetCard().MacAddress)
		}
	}
	return out
}

func (p *prober) powerOn(ctx context.Context) error {
	began := p.o.Now()
	resp, err := methods.PowerOnVM_Task(ctx, p.conn.client, &types.PowerOnVM_Task{This: toRef(p.vm)})
	if err != nil {
		return err
	}
	if _, err := p.await(ctx, fromRef(resp.Returnval), nil); err != nil {
		return err
	}
	p.found.PoweredOn, p.found.PowerOnTook = true, p.o.Now().Sub(began)
	p.found.PowerMoves = p.moved(ctx)
	return nil
}

// moved reports whether the change version differs from the last read.
func (p *prober) moved(ctx context.Context) bool {
	o, err := exact(ctx, p.conn.client, p.vm, propChangeVersion)
	if err != nil {
		return false
	}
	before := p.version
	p.version = o.text(propChangeVersion)
	return before != p.version
}

func (p *prober) awaitGuest(ctx context.Context) error {
	began := p.o.Now()
	for p.o.Now().Sub(began) < min(toolsTime, p.o.ProbeTime/3) {
		o, err := exact(ctx, p.conn.client, p.vm, propTools, propGuestIP)
		if err != nil {
			return err
		}
		p.found.Tools = o.text(propTools) == string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
		p.found.IP = o.text(propGuestIP) != ""
		if p.found.Tools && p.found.IP {
			p.found.ToolsTook = p.o.Now().Sub(began)
			return nil
		}
		if !sleep(ctx, time.Second) {
			return ctx.Err()
		}
	}
	return nil
}

func (p *prober) writeGuestInfo(ctx context.Context) error {
	if err := p.write(ctx, inventory.KV{Key: keyProbeGuest, Value: p.name}); err != nil {
		return err
	}
	o, err := exact(ctx, p.conn.client, p.vm, extraConfigPath(keyProbeGuest))
	if err != nil {
		return err
	}
	p.found.GuestInfo = extraValue(o, extraConfigPath(keyProbeGuest)) == p.name
	p.found.GuestMoves = p.moved(ctx)
	return nil
}

func (p *prober) powerOff(ctx context.Context) error {
	if err := p.switchOff(ctx, p.vm); err != nil {
		return err
	}
	p.moved(ctx)
	return nil
}

func (p *prober) mark(ctx context.Context) error {
	return p.write(ctx, inventory.KV{Key: inventory.KeyTombstone, Value: p.name})
}

// write changes a key of the VM's extraConfig, on condition that the change version is the last one that was read.
func (p *prober) write(ctx context.Context, kv inventory.KV) error {
	task, err := writeKeys(ctx, p.conn, p.vm, p.version, []inventory.KV{kv})
	if err != nil {
		return err
	}
	_, err = p.await(ctx, fromRef(task), nil)
	return err
}

func (p *prober) destroy(ctx context.Context) error {
	task, err := p.destroyVM(ctx, p.vm, p.name)
	if err != nil {
		return err
	}
	o, err := exact(ctx, p.conn.client, task, taskState)
	p.found.TaskAfterDestroy = true
	p.found.TaskVisible = err == nil && o.text(taskState) != ""
	return nil
}

// remove removes all objects of the probe, including those of requests whose reply was lost.
func (p *prober) remove(ctx context.Context) error {
	if p.folder.IsZero() {
		ref, err := findChild(ctx, p.conn.client, p.home, p.name)
		if err != nil {
			return fmt.Errorf("look for folder %s: %w", p.name, err)
		}
		if ref.IsZero() {
			return nil
		}
		p.folder = ref
	}
	if p.cloning && !p.task.IsZero() {
		// Every account can cancel its own tasks. The folder shows whether the request was too late.
		_, _ = methods.CancelTask(ctx, p.conn.client, &types.CancelTask{This: toRef(p.task)})
	}
	return p.clear(ctx, leftFolder{ref: p.folder, name: p.name, from: p.from, until: p.until, cloning: p.cloning})
}
