package govmomi_test

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestNothingIsTakenOverFromAnInstallationThatHasASession(t *testing.T) {
	r := newRig(t, govmomi.Poll, func(_ *sim.Options, cfg *govmomi.Config) {
		cfg.Session.Identity = session.Identity{Installation: installation, VCenter: "test", Process: &session.Process{Boot: "me"}}
	}).connected()
	other := r.cfg.Session
	other.Identity = session.Identity{Installation: "old", VCenter: "another name", Process: &session.Process{Boot: "theirs"}}
	theirs, err := session.Open(t.Context(), other)
	must(t, err)

	problem := func(words string) func() bool {
		return func() bool {
			h := r.server.Health()
			return h.Predecessor == "" && strings.Contains(h.PredecessorProblem, words)
		}
	}
	r.server.SetPredecessor("old")
	r.until("its session is seen", problem("installation old has sessions at this vCenter (1,"))

	must(t, theirs.Close(t.Context()))
	r.server.SetPredecessor("")
	r.server.SetPredecessor("old")
	r.until("no session of it is left", func() bool { return r.server.Health().Predecessor == "old" })
	r.server.SetPredecessor("")
	if h := r.server.Health(); h.Predecessor != "" {
		t.Errorf("the predecessor is %q, want none", h.Predecessor)
	}
}
