package model

import (
	"fmt"
	"maps"

	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

const (
	adoptAnnotation = v1alpha1.AdoptAnnotation
	// formerUID is the UID of the group whose VMs are adopted.
	formerUID = "0a1b2c3d-0000-4000-8000-000000000002"
)

// formerUUID is the instance UUID of a VM that the former group cloned.
func formerUUID(i int) string { return plan.InstanceUUID(formerUID, int32(i), 0) }

// kinds are the possible events, by name. Each returns a description.
var kinds = map[string]func(w *world, n int) string{}

func init() {
	maps.Copy(kinds, edits)
	maps.Copy(kinds, troubles)
	maps.Copy(kinds, rulings)
}

// edits are the users' changes of the group.
var edits = map[string]func(w *world, n int) string{
	"scale": func(w *world, n int) string {
		w.api.spec(func(s *v1alpha1.VmGroupSpec) { s.Replicas = ptr.To(int32(n % 6)) })
		return fmt.Sprintf("scale to %d", n%6)
	},
	"scale-by-one": func(w *world, n int) string {
		w.api.spec(func(s *v1alpha1.VmGroupSpec) {
			s.Replicas = ptr.To(max(0, min(6, ptr.Deref(s.Replicas, 1)+int32(n%2*2-1))))
		})
		return fmt.Sprintf("scale by %d", n%2*2-1)
	},
	"template": func(w *world, n int) string {
		name := templateNames[n%len(templateNames)]
		w.api.spec(func(s *v1alpha1.VmGroupSpec) { s.Template = name })
		return "template " + name
	},
	"template-and-scale": func(w *world, n int) string {
		name, replicas := templateNames[n%3], int32(n/4%6)
		w.api.spec(func(s *v1alpha1.VmGroupSpec) { s.Template, s.Replicas = name, ptr.To(replicas) })
		return fmt.Sprintf("template %s and scale to %d", name, replicas)
	},
	"size": func(w *world, n int) string {
		w.api.spec(func(s *v1alpha1.VmGroupSpec) { s.CPU, s.Memory = int32(1+n%4), int32(1+n/4%4) })
		return fmt.Sprintf("cpu %d, memory %d", 1+n%4, 1+n/4%4)
	},
	"size-and-scale": func(w *world, n int) string {
		w.api.spec(func(s *v1alpha1.VmGroupSpec) { s.CPU, s.Replicas = int32(1+n%4), ptr.To(int32(n/4%6)) })
		return fmt.Sprintf("cpu %d and scale to %d", 1+n%4, n/4%6)
	},
	"root-disk": func(w *world, n int) string {
		size := []int32{0, 20, 40, 60}[n%4]
		w.api.spec(func(s *v1alpha1.VmGroupSpec) {
			var data []v1alpha1.DataDisk
			if s.Disks != nil {
				data = s.Disks.Data
			}
			switch {
			case size == 0:
				s.Disks = &v1alpha1.Disks{Data: data}
			case size > s.Shape().RootDiskGiB(): // the schema refuses a smaller one
				s.Disks = &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: size}, Data: data}
			}
		})
		return fmt.Sprintf("root disk of %d GiB, unless it is larger", size)
	},
	"data-disks": func(w *world, n int) string {
		names := [][]string{nil, {"data"}, {"logs"}, {"data", "logs"}}[n%4]
		w.api.spec(func(s *v1alpha1.VmGroupSpec) {
			disks := &v1alpha1.Disks{}
			if s.Disks != nil {
				disks.Root = s.Disks.Root
			}
			for _, name := range names {
				d := v1alpha1.DataDisk{Name: name, SizeGiB: int32(1 + n/4%4)}
				for _, was := range s.Shape().DataDisks() {
					if was.Name == name {
						d.SizeGiB = max(d.SizeGiB, was.SizeGiB) // the schema refuses a smaller one
					}
				}
				disks.Data = append(disks.Data, d)
			}
			s.Disks = disks
		})
		return fmt.Sprintf("data disks %v of %d GiB, unless they are larger", names, 1+n/4%4)
	},
	"network": func(w *world, n int) string {
		name := []string{"", "blue"}[n%2]
		w.api.spec(func(s *v1alpha1.VmGroupSpec) { s.Placement = &v1alpha1.Placement{Network: name} })
		return fmt.Sprintf("network %q", name)
	},
	"replace-all": func(w *world, n int) string {
		w.api.spec(func(s *v1alpha1.VmGroupSpec) { strategy(s).ReplaceTrigger = fmt.Sprint("t", n%3) })
		return fmt.Sprint("replaceTrigger t", n%3)
	},
	"budget": func(w *world, n int) string {
		b := budgets[n%len(budgets)]
		w.api.spec(func(s *v1alpha1.VmGroupSpec) {
			strategy(s).MaxSurge, strategy(s).MaxUnavailable = number(b[0]), number(b[1])
		})
		return fmt.Sprintf("maxSurge %q, maxUnavailable %q", b[0], b[1])
	},
	"pause-update": func(w *world, n int) string {
		w.api.spec(func(s *v1alpha1.VmGroupSpec) { strategy(s).Paused = n%3 > 0 })
		return fmt.Sprintf("updateStrategy.paused %v", n%3 > 0)
	},
	"update-type": func(w *world, n int) string {
		name := []v1alpha1.UpdateStrategyType{v1alpha1.UpdateOnDelete, v1alpha1.UpdateRolling}[n%2]
		w.api.spec(func(s *v1alpha1.VmGroupSpec) { strategy(s).Type = name })
		return "updateStrategy.type " + string(name)
	},
	"resize": func(w *world, n int) string {
		name := []v1alpha1.ResizeMode{v1alpha1.ResizeHot, v1alpha1.ResizeRestart, v1alpha1.ResizeRecreate}[n%3]
		w.api.spec(func(s *v1alpha1.VmGroupSpec) { strategy(s).Resize = name })
		return "updateStrategy.resize " + string(name)
	},
	"max-failures": func(w *world, n int) string {
		w.api.spec(func(s *v1alpha1.VmGroupSpec) { strategy(s).MaxFailures = int32(1 + n%3) })
		return fmt.Sprintf("updateStrategy.maxFailures %d", 1+n%3)
	},
	"readiness": func(w *world, n int) string {
		gate := []v1alpha1.ReadinessGate{v1alpha1.GatePoweredOn, v1alpha1.GateGuestHeartbeat, v1alpha1.GateGuestIP}[n%3]
		least, startup, deadline := []int32{0, 30, 120}[n/3%3], []int32{60, 200, 600}[n/9%3], []int32{0, 120, 900}[n/27%3]
		w.api.spec(func(s *v1alpha1.VmGroupSpec) {
			s.Readiness = &v1alpha1.Readiness{Gate: gate, MinReadySeconds: least, StartupTimeoutSeconds: startup, ProgressDeadlineSeconds: deadline}
		})
		return fmt.Sprintf("readiness %s, minReady %d, startup %d, deadline %d", gate, least, startup, deadline)
	},
	"delete-first": func(w *world, n int) string {
		names := make([]string, 0, 2)
		for i := range 1 + n%2 {
			names = append(names, fmt.Sprintf("%s-%d", groupName, (n/2+i)%5))
		}
		w.api.spec(func(s *v1alpha1.VmGroupSpec) { s.ScaleDown = &v1alpha1.ScaleDown{DeleteFirst: names} })
		return fmt.Sprint("deleteFirst ", names)
	},
	"delete-first-and-shrink": func(w *world, n int) string {
		name := fmt.Sprintf("%s-%d", groupName, n%5)
		w.api.spec(func(s *v1alpha1.VmGroupSpec) {
			s.ScaleDown = &v1alpha1.ScaleDown{DeleteFirst: []string{name}}
			s.Replicas = ptr.To(max(0, ptr.Deref(s.Replicas, 1)-1))
		})
		return "deleteFirst " + name + " and scale by -1"
	},
	"order": func(w *world, n int) string {
		order := []v1alpha1.ScaleDownOrder{v1alpha1.ScaleDownOldest, v1alpha1.ScaleDownNewest}[n%2]
		w.api.spec(func(s *v1alpha1.VmGroupSpec) { s.ScaleDown = &v1alpha1.ScaleDown{Order: order} })
		return "scaleDown.order " + string(order)
	},
	"power": func(w *world, n int) string {
		power := []v1alpha1.PowerState{v1alpha1.PoweredOff, v1alpha1.PoweredOn}[n%2]
		w.api.spec(func(s *v1alpha1.VmGroupSpec) { s.PowerState = power })
		return "powerState " + string(power)
	},
	"shutdown": func(w *world, n int) string {
		s := &v1alpha1.Shutdown{Mode: []v1alpha1.ShutdownMode{v1alpha1.ShutdownGraceful, v1alpha1.ShutdownHard}[n%2], TimeoutSeconds: []int32{20, 180, 600}[n/2%3]}
		w.api.spec(func(spec *v1alpha1.VmGroupSpec) { spec.Shutdown = s })
		return fmt.Sprintf("shutdown %s %d", s.Mode, s.TimeoutSeconds)
	},
	"repair": func(w *world, n int) string {
		r := &v1alpha1.Repair{Mode: []v1alpha1.RepairMode{v1alpha1.RepairObserve, v1alpha1.RepairEnforce}[n%2], MaxUnhealthy: number([]string{"", "1", "50%", "0"}[n/2%4])}
		w.api.spec(func(s *v1alpha1.VmGroupSpec) { s.Repair = r })
		return fmt.Sprintf("repair %s, maxUnhealthy %v", r.Mode, r.MaxUnhealthy)
	},
	"retain": func(w *world, n int) string {
		policy := []v1alpha1.DeletionPolicy{v1alpha1.DeletionRetain, v1alpha1.DeletionDelete}[n%2]
		w.api.spec(func(s *v1alpha1.VmGroupSpec) { s.DeletionPolicy = policy })
		return "deletionPolicy " + string(policy)
	},
	"user-data": func(w *world, n int) string {
		w.api.spec(func(s *v1alpha1.VmGroupSpec) {
			if s.UserDataSecretRef = nil; n%3 > 0 {
				s.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: "data"}
			}
		})
		return fmt.Sprintf("userDataSecretRef %v", n%3 > 0)
	},
	"pause": func(w *world, n int) string {
		on := n%3 > 0
		switch n / 3 % 3 {
		case 0:
			w.api.spec(func(s *v1alpha1.VmGroupSpec) { s.Paused = on })
		case 1:
			value := ""
			if on {
				value = "true"
			}
			w.api.annotate(v1alpha1.PausedAnnotation, value)
		default:
			w.hub.memberPaused = on
			w.op.wake("the member changed")
		}
		return fmt.Sprintf("paused %v, way %d", on, n/3%3)
	},
	"undo": func(w *world, n int) string {
		if len(w.backups) == 0 {
			return "undo nothing"
		}
		old := w.backups[n%len(w.backups)].group.Spec.DeepCopy()
		w.api.spec(func(s *v1alpha1.VmGroupSpec) {
			s.SetShape(old.Shape())
			if old.UpdateStrategy != nil {
				strategy(s).ReplaceTrigger = old.UpdateStrategy.ReplaceTrigger
			}
			if n/8%2 == 0 {
				s.Replicas = old.Replicas
			}
		})
		return "undo to template " + old.Template
	},
	"delete": func(w *world, n int) string {
		if n%8 > 0 {
			return "the group is not deleted"
		}
		w.api.remove()
		return "delete the group"
	},
	"annotate-release": func(w *world, n int) string {
		uid := []string{groupUID, "another"}[n%2]
		w.api.annotate(v1alpha1.ReleaseAnnotation, uid)
		return "annotate release " + uid
	},
	"annotate-adopt": func(w *world, n int) string {
		uid := []string{"", formerUID, groupUID, "nonsense"}[n%4]
		w.api.annotate(adoptAnnotation, uid)
		return "annotate adopt " + uid
	},
	"edit-in-between": func(w *world, n int) string {
		w.api.before = func(g *v1alpha1.VmGroup) { g.Spec.Replicas = ptr.To(int32(n % 5)) }
		return fmt.Sprintf("scale to %d right before the next write of status", n%5)
	},
}

// strategy returns the update strategy of a spec.
func strategy(s *v1alpha1.VmGroupSpec) *v1alpha1.UpdateStrategy {
	if s.UpdateStrategy == nil {
		s.UpdateStrategy = &v1alpha1.UpdateStrategy{}
	}
	return s.UpdateStrategy
}
