package plan

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

var update = flag.Bool("update", false, "write testdata/*.golden instead of comparing with them")

// story records the passes of a group.
type story struct {
	*sim
	text strings.Builder
	last string
}

func (s *story) note(format string, args ...any) { fmt.Fprintf(&s.text, "# "+format+"\n", args...) }

// until runs passes and ticks until done returns true, and records every pass that shows a change.
func (s *story) until(done func(Plan) bool) {
	s.run(func(p Plan) bool {
		if told := tell(p); told != s.last {
			fmt.Fprintf(&s.text, "%s\n%s", s.now.Format("15:04:05"), told)
			s.last = told
		}
		return done(p)
	})
	s.text.WriteString("\n")
}

// tell formats a plan.
func tell(p Plan) string {
	var b strings.Builder
	var flags []string
	for _, f := range []struct {
		name string
		set  bool
	}{{"repairing", p.Repairing}, {"settled", p.Settled}, {"gone", p.Gone}} {
		if f.set {
			flags = append(flags, f.name)
		}
	}
	fmt.Fprintf(&b, "  %d of %d ready, %d exist, %d updated %s\n", p.Ready, p.Desired, p.Existing, p.Updated,
		strings.Join(flags, " "))
	for _, s := range p.VMs {
		fmt.Fprintf(&b, "  %-8s%-10s%-6s%s\n", s.Name, s.Phase, s.MoRef, s.Message)
	}
	if len(p.Doomed) > 0 {
		fmt.Fprintf(&b, "  doomed %v\n", p.Doomed)
	}
	if len(p.Outdated) > 0 {
		fmt.Fprintf(&b, "  outdated %v\n", p.Outdated)
	}
	for _, f := range p.Foreign {
		fmt.Fprintf(&b, "  foreign %s %s copy=%t takesName=%t\n", f.MoRef, f.Name, f.Copy, f.TakesName)
	}
	for _, blocker := range p.Blockers {
		kind := "blocked"
		if blocker.Terminal {
			kind = "stalled"
		}
		fmt.Fprintf(&b, "  %s by %s: %s\n", kind, blocker.Reason, blocker.Message)
	}
	for _, a := range p.Actions {
		incarnation := ""
		if a.Incarnation > 0 {
			incarnation = fmt.Sprintf(" (incarnation %d)", a.Incarnation)
		}
		fmt.Fprintf(&b, "  > %s %s%s because %s\n", a.Kind, a.Name, incarnation, a.Reason)
	}
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}

func TestStories(t *testing.T) {
	for _, test := range []struct {
		name  string
		start int32
		tell  func(*story)
	}{
		{"scale-up", 0, func(s *story) {
			s.clones = 2
			s.note("from 0 to 5, with room for 2 clones at a time")
			s.replicas(5)
			s.until(settled)
		}},
		{"scale-down", 5, func(s *story) {
			s.note("from 5 to 2; web-0 is named in deleteFirst, then the newest leave")
			s.replicas(2)
			s.spec.ScaleDown = &v1alpha1.ScaleDown{DeleteFirst: []string{"web-0"}}
			s.until(settled)
			s.note("and back to 3")
			s.replicas(3)
			s.until(settled)
			s.note("and to 2, the oldest first: web-0 is another one now, that nobody named, and stays")
			s.spec.ScaleDown.Order = v1alpha1.ScaleDownOldest
			s.replicas(2)
			s.until(settled)
			s.note("web-0 is taken off the list, and named again")
			s.spec.ScaleDown.DeleteFirst = nil
			s.step(nil)
			s.spec.ScaleDown.DeleteFirst = []string{"web-0"}
			s.replicas(1)
			s.until(settled)
		}},
		{"deletion", 4, func(s *story) {
			s.note("the group is deleted, with room for 2 tasks at a time")
			s.deleting, s.others = true, 2
			s.until(isGone)
		}},
		{"retain", 2, func(s *story) {
			s.note("the group is deleted; its VMs are to stay")
			s.deleting, s.spec.DeletionPolicy = true, v1alpha1.DeletionRetain
			s.until(isGone)
		}},
		{"repair", 3, func(s *story) {
			s.note("web-1 is deleted behind the operator's back")
			delete(s.vms, s.byName("web-1").Ref.Value)
			s.until(settled)
			s.note("web-0 and web-2 are deleted, but only one may be repaired without a person")
			s.spec.Repair = &v1alpha1.Repair{MaxUnhealthy: ptr(intstr.FromInt32(1))}
			delete(s.vms, s.byName("web-0").Ref.Value)
			delete(s.vms, s.byName("web-2").Ref.Value)
			s.until(func(p Plan) bool { return len(p.Blockers) > 0 })
			s.note("the person raises the limit")
			s.spec.Repair = nil
			s.until(settled)
		}},
		{"power", 2, func(s *story) {
			s.note("web-1 is powered off behind the operator's back")
			s.byName("web-1").Power = vsphere.PoweredOff
			s.until(settled)
			s.note("again, while the group only observes")
			s.spec.Repair = &v1alpha1.Repair{Mode: v1alpha1.RepairObserve}
			s.byName("web-1").Power = vsphere.PoweredOff
			s.until(func(p Plan) bool { return len(p.Blockers) > 0 })
			s.note("all are to be off")
			s.spec.PowerState = v1alpha1.PoweredOff
			s.until(settled)
			s.note("and on again")
			s.spec.PowerState = v1alpha1.PoweredOn
			s.until(settled)
		}},
		{"shutdown", 4, func(s *story) {
			s.note("the guests of web-0 and web-2 take longer than others, VMware Tools do not run in web-1 and web-3; 2 leave")
			s.byName("web-0").slow, s.byName("web-2").slow = -1, 1
			s.replicas(2)
			s.until(settled)
			s.note("the group is deleted; another replica takes over before the guest of web-0 has had its time")
			s.spec.Shutdown = &v1alpha1.Shutdown{TimeoutSeconds: 60}
			s.deleting = true
			s.until(func(p Plan) bool { return s.now.Sub(vmTime(p, 0)) == 30*time.Second })
			s.crash()
			s.until(isGone)
		}},
		{"edit", 2, func(s *story) {
			s.note("the template changes, and one more VM is wanted")
			s.spec.Template = "debian-13"
			s.replicas(3)
			s.until(settled)
		}},
		{"copies", 2, func(s *story) {
			s.note("somebody copies web-0 twice, once under the name of the next ordinal, and scales to 3")
			for _, name := range []string{"web-0-backup", "web-2"} {
				original := s.byName("web-0").VM
				original.Name, original.InstanceUUID = name, ""
				s.put(original, false)
			}
			s.replicas(3)
			s.until(settled)
			s.note("the group is deleted; the copies are nobody's business")
			s.deleting = true
			s.until(isGone)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &story{sim: newSim(t, test.start)}
			s.run(settled)
			test.tell(s)
			compareGolden(t, filepath.Join("testdata", test.name+".golden"), s.text.String())
		})
	}
}

// vmTime is when the guest of a VM was asked to shut down.
func vmTime(p Plan, ordinal int32) time.Time {
	for _, s := range p.VMs {
		if s.Ordinal == ordinal {
			return s.ShutdownTime
		}
	}
	return time.Time{}
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("no golden transcript (run the test with -update to write it): %v", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the story differs from %s (-want +got):\n%s", path, diff)
	}
}
