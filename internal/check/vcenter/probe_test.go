//go:build !fast

package vcenter_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/check/vcenter"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

var (
	errKilled = errors.New("the process was killed")
	methodIn  = regexp.MustCompile(`Body[^>]*><([A-Za-z_]+)`)
)

// mortal is the transport of a process that is killed at a call, before or after the server has it. No later call of the
// process arrives.
type mortal struct {
	next  http.RoundTripper
	at    int
	after bool

	mu      sync.Mutex
	methods []string
}

func (m *mortal) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	method := ""
	if found := methodIn.FindSubmatch(body); found != nil {
		method = string(found[1])
	}
	m.mu.Lock()
	m.methods = append(m.methods, method)
	n := len(m.methods)
	m.mu.Unlock()
	switch {
	case m.at == 0 || n < m.at:
		return m.next.RoundTrip(req)
	case n == m.at && m.after:
		_, _ = m.next.RoundTrip(req)
	}
	return nil, errKilled
}

// called returns the method of the call at which the process was killed, or nothing if it ended before.
func (m *mortal) called() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at == 0 || len(m.methods) < m.at {
		return ""
	}
	return m.methods[m.at-1]
}

// remains are the names of objects that probes left.
func (r *rig) remains() (out []string) {
	for _, o := range r.sim.Inventory("Folder", "VirtualMachine") {
		if strings.HasPrefix(o.Name, "vmgroup") {
			out = append(out, o.Name)
		}
	}
	return out
}

func newProbeRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, sim.Options{CloneDelay: time.Second})
	must(t, r.person.SetTemplate(t.Context(), template, map[string]string{sim.GuestBoot: "1s"}))
	r.options.Probe, r.options.Settle = true, 0
	return r
}

func TestAProbeThatIsKilledAtAnyCallLeavesNothing(t *testing.T) {
	r := newProbeRig(t)
	synctest.Test(t, func(t *testing.T) {
		run := func(at int, after bool) *mortal {
			m := &mortal{at: at, after: after}
			r.transport = func(next http.RoundTripper) http.RoundTripper { m.next = next; return m }
			_, found, _ := r.checkNow(t)
			if at == 0 && vcenter.Worst(found) > vcenter.Warn {
				t.Fatalf("the probe was not killed, but a finding is above Warn:\n%s", table(t, found))
			}
			return m
		}
		whole := run(0, false)
		if left := r.remains(); len(left) > 0 {
			t.Fatalf("a completed probe leaves %v", left)
		}
		kills, left := 0, 0
		first := firstOf(whole.methods, "CreateFolder")
		for at := first; at <= len(whole.methods); at++ {
			method := whole.methods[at-1]
			if method == "Logout" {
				break
			}
			if !everyCall && session.ReadOnly(method) {
				continue
			}
			for _, after := range []bool{false, true} {
				m := run(at, after)
				kills++
				<-time.After(4 * time.Minute)
				if len(r.remains()) > 0 {
					left++
				}
				_ = run(0, false)
				if remains := r.remains(); len(remains) > 0 {
					t.Fatalf("killed at call %d (%s), after it arrived: %t: the next check leaves %v", at, m.called(), after, remains)
				}
			}
		}
		if kills < 16 || left < kills*3/4 {
			t.Errorf("%d kills, of which %d left something, of %v", kills, left, whole.methods)
		}
	})
}

func firstOf(methods []string, method string) int {
	for i, m := range methods {
		if m == method {
			return i + 1
		}
	}
	return 1
}

func TestACheckWithoutAProbeTellsOfWhatAKilledOneLeftAndRemovesNothing(t *testing.T) {
	r := newProbeRig(t)
	synctest.Test(t, func(t *testing.T) {
		m := &mortal{}
		r.transport = func(next http.RoundTripper) http.RoundTripper { m.next = next; return m }
		_, _, _ = r.checkNow(t)
		m.at = firstOf(m.methods, "PowerOnVM_Task") + 1
		m.methods = nil
		_, _, _ = r.checkNow(t)
		if len(r.remains()) != 2 {
			t.Fatalf("there is %v, want a folder and a VM", r.remains())
		}
		r.transport = nil
		// A probe that is possibly still running is left alone, also by another one.
		_, found, _ := r.checkNow(t)
		wantLeftover(t, found, "may still run")
		<-time.After(10 * time.Minute)
		r.options.Probe = false
		_, found, _ = r.checkNow(t)
		wantLeftover(t, found, "--probe")
		if len(r.remains()) != 2 {
			t.Errorf("there is %v: a check that may change nothing has", r.remains())
		}
	})
}

func wantLeftover(t *testing.T, found []vcenter.Finding, fix string) {
	t.Helper()
	for _, f := range found {
		if f.ID == "leftover" && f.Level == vcenter.Warn && strings.Contains(f.Fix, fix) {
			return
		}
	}
	t.Errorf("no leftover finding with the fix %q:\n%s", fix, table(t, found))
}

func TestAFolderOfAProbeWithSomethingElseInItStays(t *testing.T) {
	r := newProbeRig(t)
	folder := "/DC0/vm/vmgroup_check_1_12345678" // of 1970
	must(t, r.person.CreateFolders(t.Context(), folder))
	_, err := r.person.CreateVM(t.Context(), folder, "vmgroup-check") // it is not marked as a probe's
	must(t, err)
	// No probe has made these.
	for _, name := range []string{"vmgroup_check", "vmgroup_check_1", "vmgroup_check_1_123456789", "vmgroup_check_01_12345678"} {
		must(t, r.person.CreateFolders(t.Context(), "/DC0/vm/"+name))
	}
	_, found, _ := r.check()
	if len(r.remains()) != 6 {
		t.Errorf("there is %v:\n%s", r.remains(), table(t, found))
	}
	for _, f := range found {
		if f.ID == "leftover-foreign" && strings.Contains(f.Says, "vmgroup_check_1_12345678") {
			return
		}
	}
	t.Errorf("no finding about the folder:\n%s", table(t, found))
}

// TestAProbeWhoseTimeIsOverSendsNothingMore: a stopped process continues later, when another check can remove its objects.
func TestAProbeWhoseTimeIsOverSendsNothingMore(t *testing.T) {
	r := newProbeRig(t)
	synctest.Test(t, func(t *testing.T) {
		m := &mortal{}
		r.transport = func(next http.RoundTripper) http.RoundTripper {
			m.next = next
			return trip(func(req *http.Request) (*http.Response, error) {
				res, err := m.RoundTrip(req)
				if last := m.methods[len(m.methods)-1]; last == "PowerOnVM_Task" {
					<-time.After(10 * time.Minute)
				}
				return res, err
			})
		}
		_, found, _ := r.checkNow(t)
		for _, method := range m.methods[firstOf(m.methods, "PowerOnVM_Task"):] {
			if method != "" && method != "Logout" && !session.ReadOnly(method) {
				t.Errorf("%s was sent", method)
			}
		}
		if vcenter.Worst(found) != vcenter.Fail || len(r.remains()) != 2 {
			t.Errorf("there is %v:\n%s", r.remains(), table(t, found))
		}
	})
}

// TestAnAccountWithoutTheRootObjectCanProbe: vCenter does not show it the state of tasks that destroyed an object. So the
// folder is destroyed while the simulator still holds a lock. Virtual time would stand still then.
func TestAnAccountWithoutTheRootObjectCanProbe(t *testing.T) {
	r := newRig(t, sim.Options{NoRootPermission: true})
	must(t, r.person.SetTemplate(t.Context(), template, map[string]string{sim.GuestBoot: "0s"}))
	r.options.Probe, r.options.Settle = true, 0
	facts, found, _ := r.checkNow(t)
	if p := facts.Probe; p.Failed != "" || p.Left != nil || p.TaskVisible || len(r.remains()) > 0 {
		t.Errorf("there is %v:\n%s", r.remains(), table(t, found))
	}
}
