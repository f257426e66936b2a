package session

import (
	"context"
	"testing"
	"time"
)

func TestASilentVCenterFreesTheCallersOfChangesSoon(t *testing.T) {
	late, cancel := context.WithTimeout(t.Context(), time.Hour)
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
		{"a wait for news", "WaitForUpdatesEx", late, Config{}, time.Hour},
	} {
		s := &Session{cfg: test.cfg}
		ctx, cancel := s.withTimeout(test.ctx, test.method)
		deadline, ok := ctx.Deadline()
		left := time.Until(deadline)
		if !ok || left > test.most || left < test.most-time.Second/2 {
			t.Errorf("%s may take %v, want %v", test.name, left, test.most)
		}
		cancel()
	}
}
