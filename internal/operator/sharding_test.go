package operator

import (
	"errors"
	"testing"
)

// fakeSharer is a replica with the answers that a test sets.
type fakeSharer struct {
	problem string
	joined  bool
}

func (f *fakeSharer) Problem() string { return f.problem }
func (f *fakeSharer) Joined() bool    { return f.joined }

func TestAReplicaIsReadyOnceTheOthersKnowIt(t *testing.T) {
	f := &fakeSharer{}
	ready := sharesWork(f)
	if err := ready(nil); !errors.Is(err, errNotJoined) {
		t.Errorf("before it has joined: %v", err)
	}
	f.joined = true
	if err := ready(nil); err != nil {
		t.Errorf("after it has joined: %v", err)
	}
	f.joined = false // its session was lost, and the next one is on its way
	if err := ready(nil); err != nil {
		t.Errorf("between two sessions: %v", err)
	}
	f.problem = "something is wrong"
	if err := ready(nil); err == nil {
		t.Error("it is ready with a problem")
	}
}
