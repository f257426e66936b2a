package session

import (
	"context"
	"testing"
	"time"
)

func TestASilentVCenterFreesTheCallersOfChangesSoon(t *testing.T) {
	const long = time.Hour
	started := time.Now()
	late, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	for _, test := range []struct {
		name, method string
		ctx          context.Context
		cfg          Config
		most         time.Duration
	}{
		{"a change", "CloneVM_Task", t.Context(), Config{}, changeTimeout},
		{"a change whose caller would wait for long", "CreateFolder", late, Config{}, changeTimeout},
		{"a change with a short time for calls", "CreateFolder", late, Config{CallTimeout: time.Second}, time.Second},
		{"a read", "RetrievePropertiesEx", t.Context(), Config{}, defaultCallTimeout},
		{"a wait for news", "WaitForUpdatesEx", late, Config{}, long},
	} {
		s := &Session{cfg: test.cfg}
		before := time.Now()
		if test.most == long {
			before = started
		}
		ctx, cancel := s.withTimeout(test.ctx, test.method)
		deadline, ok := ctx.Deadline()
		// Between two clock reads, because the machine can pause this process in between.
		if !ok || deadline.Before(before.Add(test.most)) || deadline.After(time.Now().Add(test.most)) {
			t.Errorf("%s may take until %v, want %v from %v", test.name, deadline, test.most, before)
		}
		cancel()
	}
}
