package session_test

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestAVCenterAnswersAKnockWhateverItThinksOfSOAPActions(t *testing.T) {
	for name, o := range map[string]sim.Options{"strict": {}, "lax": {AnySOAPAction: true}} {
		t.Run(name, func(t *testing.T) {
			_, proxy := start(t, o)
			must(t, session.Knock(t.Context(), config(proxy.URL)))
			s, err := session.Open(t.Context(), config(proxy.URL))
			must(t, err)
			must(t, s.Close(t.Context()))
		})
	}
}
