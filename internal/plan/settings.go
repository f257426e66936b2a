package plan

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// maxReplicas is the maximum of spec.replicas in the API.
const maxReplicas = 500

// defaultStartupSeconds is the default of readiness.startupTimeoutSeconds.
const defaultStartupSeconds = 600

// settings is a spec with its defaults and its errors.
type settings struct {
	desired int32
	// keep is true if spec does not define the wanted number of VMs: no VM is created, and none leaves because of an unintended number.
	keep bool
	// noCreate is true if no VM can be cloned from this spec.
	noCreate bool
	// blockers are the errors in spec.
	blockers []Blocker

	wantOn       bool
	observe      bool
	maxUnhealthy *intstr.IntOrString
	gate         v1alpha1.ReadinessGate
	minReady     time.Duration
	policy       v1alpha1.DeletionPolicy
	oldestFirst  bool
	// deleteFirst are names: see listed.
	deleteFirst map[string]bool
	// shutdown is the time that a guest has to shut down. Zero means that guests are not asked.
	shutdown time.Duration
	// startup is the time that an updated VM has to become ready. guestInfo is the value that its guest must publish, or nil.
	startup   time.Duration
	guestInfo *v1alpha1.GuestInfoGate
	update    strategy
}

func settingsOf(in *Input) settings {
	spec := &in.Spec
	s := settings{
		wantOn:      spec.PowerState != v1alpha1.PoweredOff,
		gate:        v1alpha1.GatePoweredOn,
		policy:      v1alpha1.DeletionDelete,
		deleteFirst: map[string]bool{},
		shutdown:    v1alpha1.DefaultShutdownTimeoutSeconds * time.Second,
		startup:     defaultStartupSeconds * time.Second,
	}
	if d := spec.Shutdown; d != nil {
		switch {
		case d.Mode == v1alpha1.ShutdownHard:
			s.shutdown = 0
		case d.TimeoutSeconds > 0:
			s.shutdown = time.Duration(d.TimeoutSeconds) * time.Second
		}
	}
	if spec.DeletionPolicy != "" {
		s.policy = spec.DeletionPolicy
	}
	if r := spec.Repair; r != nil {
		s.observe, s.maxUnhealthy = r.Mode == v1alpha1.RepairObserve, r.MaxUnhealthy
	}
	if r := spec.Readiness; r != nil {
		if r.Gate != "" {
			s.gate = r.Gate
		}
		s.minReady, s.guestInfo = time.Duration(r.MinReadySeconds)*time.Second, r.GuestInfo
		if r.StartupTimeoutSeconds > 0 {
			s.startup = time.Duration(r.StartupTimeoutSeconds) * time.Second
		}
	}
	if d := spec.ScaleDown; d != nil {
		s.oldestFirst = d.Order == v1alpha1.ScaleDownOldest
		for _, name := range d.DeleteFirst {
			s.deleteFirst[name] = true
		}
	}
	if !in.Deleting {
		s.count(spec)
	}
	s.update = strategyOf(spec.UpdateStrategy, s.desired)
	return s
}

// count sets the wanted number of VMs, and whether they can be created.
func (s *settings) count(spec *v1alpha1.VmGroupSpec) {
	if reflect.ValueOf(*spec).IsZero() {
		s.keep, s.noCreate = true, true
		s.invalid("spec is empty: set spec.cpu, spec.memory, spec.template and spec.replicas. " +
			"VMs that exist are left as they are.")
		return
	}
	s.desired = 1
	if spec.Replicas != nil {
		s.desired = *spec.Replicas
	}
	if n := s.desired; n < 0 || n > maxReplicas {
		s.desired = max(n, 0)
		s.keep, s.noCreate = true, true
		s.invalid(fmt.Sprintf("spec.replicas is %d: set it to a number from 0 to %d. VMs that exist are left as they are.",
			n, maxReplicas))
	}
	var wrong []string
	if spec.CPU < 1 {
		wrong = append(wrong, fmt.Sprintf("spec.cpu is %d, the least is 1", spec.CPU))
	}
	if !spec.FillsSockets() {
		wrong = append(wrong, fmt.Sprintf("spec.cpu is %d, which is no multiple of spec.coresPerSocket (%d)", spec.CPU, spec.CoresPerSocket))
	}
	wrong = append(wrong, wrongDisks(spec.Shape())...)
	if spec.Memory < 1 {
		wrong = append(wrong, fmt.Sprintf("spec.memory is %d GiB, the least is 1", spec.Memory))
	}
	if spec.Template == "" {
		wrong = append(wrong, "spec.template is empty")
	}
	if len(wrong) > 0 {
		s.noCreate = true
		s.invalid("No VM can be cloned: " + strings.Join(wrong, "; ") + ".")
		s.blockers[len(s.blockers)-1].Brief = strings.Join(wrong, "; ")
	}
}

// wrongDisks returns what is wrong with the disks of a shape. The schema refuses all of it, but a member can ignore the schema.
func wrongDisks(shape v1alpha1.VMShape) (wrong []string) {
	if n := shape.RootDiskGiB(); n < 0 {
		wrong = append(wrong, fmt.Sprintf("spec.disks.root.sizeGiB is %d", n))
	}
	disks := shape.DataDisks()
	if len(disks) > v1alpha1.MaxDataDisks {
		return append(wrong, fmt.Sprintf("spec.disks.data has %d disks, the most is %d", len(shape.Disks.Data), v1alpha1.MaxDataDisks))
	}
	for i, d := range disks {
		switch {
		case !vsphere.IsDiskName(d.Name):
			wrong = append(wrong, fmt.Sprintf("spec.disks.data has a disk with the name %q, which must be a DNS label of at most %d characters", untrusted.Name(d.Name), vsphere.LongestDiskName))
		case d.SizeGiB < 1:
			wrong = append(wrong, fmt.Sprintf("spec.disks.data[%s].sizeGiB is %d, the least is 1", d.Name, d.SizeGiB))
		case i > 0 && disks[i-1].Name == d.Name:
			wrong = append(wrong, fmt.Sprintf("spec.disks.data has two disks with the name %s", d.Name))
		}
	}
	return wrong
}

func (s *settings) invalid(message string) {
	s.blockers = append(s.blockers, Blocker{Reason: v1alpha1.ReasonInvalidSpec, Message: message, Terminal: true})
}

// Wanted returns the number of VMs that a spec asks for. known is false if spec does not define it: then no VM leaves.
func Wanted(spec v1alpha1.VmGroupSpec) (n int32, known bool) {
	var s settings
	s.count(&spec)
	return s.desired, !s.keep
}
