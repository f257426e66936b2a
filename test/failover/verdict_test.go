//go:build unix

package failover

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// end stops the load and checks the rules of every story: exactly the requested VMs, and no two replicas ever acted on
// a group at the same time.
func (s *tale) end(ctx context.Context) {
	s.Helper()
	s.load.settle(ctx, s.T)
	s.onlyWhatWasAskedFor(ctx)
	h := s.history()
	for _, o := range h.Overlaps() {
		s.Errorf("%s%s", o, s.whoIs(o.First.Boot, o.Second.Boot))
	}
	if ok, picture := h.Linearizable(5 * time.Minute); !ok {
		path := filepath.Join(os.TempDir(), fmt.Sprintf("failover-%s.html", s.Name()))
		s.Errorf("the history is not one that a lock for each group allows; see %s (%v)", path, picture.Write(path))
	}
	if len(h.Calls) == 0 {
		s.Error("no call was made: the story says nothing")
	}
	s.Logf("%d calls (%s) on %d groups, %d given up by their client, %d on shared folders; %d changes of groups",
		len(h.Calls), s.callsByHost(h), len(h.ByGroup()), len(h.GivenUp()), h.Shared, s.load.changes()-s.changes)
}

// callsByHost returns the number of calls of each replica.
func (s *tale) callsByHost(h History) string {
	hosts := map[string]string{}
	for _, one := range s.observer.Timeline().Sessions {
		hosts[one.Boot] = one.Host
	}
	counts := map[string]int{}
	for _, c := range h.Calls {
		counts[cmp.Or(hosts[c.Boot], c.Boot)]++
	}
	parts := make([]string, 0, len(counts))
	for _, host := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", host, counts[host]))
	}
	return strings.Join(parts, ", ")
}

func (s *tale) whoIs(boots ...string) string {
	var out strings.Builder
	for _, one := range s.observer.Timeline().Sessions {
		if slices.Contains(boots, one.Boot) {
			fmt.Fprintf(&out, "\n  session %s of %s, boot %s: %s since %s", one.Name, one.Host, one.Boot, one.State, one.Since.Format(clock))
		}
	}
	return out.String()
}

// onlyWhatWasAskedFor waits until vCenter has exactly the VMs that the groups request and report. If a replica ended
// before vCenter had created its VM, the next owner finds it, possibly after a report without problems.
func (s *tale) onlyWhatWasAskedFor(ctx context.Context) {
	s.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var wrong []string
	err := await.Condition(ctx, "vCenter to have exactly what was asked for", func(ctx context.Context) (bool, error) {
		found, err := s.wrongVMs(ctx)
		if err == nil {
			wrong = found
		}
		return len(found) == 0, err
	})
	if err != nil {
		s.Errorf("%v: %s", err, strings.Join(wrong, "; "))
	}
}

// wrongVMs compares vCenter with the groups' requests and reports.
func (s *tale) wrongVMs(ctx context.Context) (wrong []string, err error) {
	vms, err := s.Person.VMs(ctx)
	if err != nil {
		return nil, err
	}
	groups := &v1alpha1.VmGroupList{}
	if err := s.Members[member].List(ctx, groups); err != nil {
		return nil, err
	}
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	wanted := map[string]string{}
	for i := range groups.Items {
		g := &groups.Items[i]
		if g.Status.Folder == nil || len(g.Status.VMs) != int(*g.Spec.Replicas) {
			say("group %s has %d VMs, want %d; folder %v", g.Name, len(g.Status.VMs), *g.Spec.Replicas, g.Status.Folder)
			continue
		}
		for _, vm := range g.Status.VMs {
			wanted[g.Status.Folder.Path+"/"+vm.Name] = string(g.UID)
		}
	}
	for path, vm := range vms {
		if !strings.HasPrefix(path, "/DC0/vm/vm-operator/") {
			continue
		}
		uid, ok := wanted[path]
		switch parts := strings.Split(vm.Extra["vmgroup.owner"], ";"); {
		case !ok:
			say("%s belongs to no group: an orphan, or surplus", path)
		case len(parts) < 4 || parts[3] != uid:
			say("%s carries the stamp %q, want group %s", path, vm.Extra["vmgroup.owner"], uid)
		case !vm.On:
			say("%s is off", path)
		}
		delete(wanted, path)
	}
	for path := range wanted {
		say("%s is missing", path)
	}
	return wrong, nil
}

// explain adds debug information to a failure.
func (s *tale) explain() {
	if !s.Failed() || s.Stack == nil {
		return
	}
	line := s.observer.Timeline()
	s.Logf("begun %s; shares now %v; sessions:", s.begin.Format(clock), line.Shares())
	for _, one := range line.Sessions {
		if one.State != Gone || one.Since.After(s.begin) {
			s.Logf("  %s of %s, boot %s: %s since %s", one.Name, one.Host, one.Boot, one.State, one.Since.Format(clock))
		}
	}
	s.Logf("calls: %s; moves:\n%s", s.callsByHost(s.history()), summary(line, line.Moves(s.begin)))
	s.Logf("the replicas' last words on sharding:\n%s", s.lastWords(12))
}

// summary counts the moves of each moment by target.
func summary(line Timeline, moves []Move) string {
	var order []string
	counts := map[string]int{}
	host := func(session string) string { return cmp.Or(line.Sessions[session].Host, "none") }
	for _, m := range moves {
		what := fmt.Sprintf("%s from %s to %s", m.At.Format(clock), host(m.From), host(m.To))
		if counts[what] == 0 {
			order = append(order, what)
		}
		counts[what]++
	}
	var out strings.Builder
	for _, what := range order[max(0, len(order)-40):] {
		fmt.Fprintf(&out, "  %3d buckets %s\n", counts[what], what)
	}
	return out.String()
}

// lastWords are the last lines of each replica's log that do not concern single groups.
func (s *tale) lastWords(lines int) string {
	var out strings.Builder
	for _, r := range s.Replicas {
		fmt.Fprintf(&out, "--- %s\n", r.Name)
		var kept []string
		for line := range strings.Lines(r.Tail(400)) {
			if !strings.Contains(line, `"controller":"vmgroup"`) {
				kept = append(kept, line)
			}
		}
		out.WriteString(strings.Join(kept[max(0, len(kept)-lines):], ""))
		out.WriteString("\n")
	}
	return out.String()
}
