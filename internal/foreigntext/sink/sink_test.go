package sink

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

const evil = "vm\x1b[2J\u202e\n0"

func TestTheLogHoldsNothingThatControlsATerminal(t *testing.T) {
	for name, encoder := range map[string]zap.Opts{"json": zap.JSONEncoder(), "console": zap.ConsoleEncoder()} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			log := Wrap(zap.New(zap.WriteTo(&out), encoder, zap.StacktraceLevel(zapcore.PanicLevel)))
			log.WithName("vmgroup").WithValues("with", evil).V(0).Info("message "+evil, "value", evil, "list", []string{evil}, "err", errors.New(evil), "number", 7)
			log.Error(errors.New("refused: "+evil), "failed")
			log.Error(nil, "no error")
			log.Info("long", "value", strings.Repeat("x", 100_000))

			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if len(lines) != 4 {
				t.Fatalf("%d lines were logged, want 4:\n%q", len(lines), lines)
			}
			const shown = "vm�[2J� 0"
			if n := strings.Count(lines[0], shown); n != 5 {
				t.Errorf("%q is in the first line %d times, want 5: %s", shown, n, lines[0])
			}
			if !strings.Contains(lines[0], "7") || !strings.Contains(lines[1], "refused: "+shown) {
				t.Errorf("lines lack what was logged: %q", lines)
			}
			for _, bad := range []string{"\x1b", "\u202e", `\u001b`, `\n`} {
				if strings.Contains(out.String(), bad) {
					t.Errorf("the log has %q: %s", bad, out.String())
				}
			}
			if len(lines[3]) > 5000 {
				t.Errorf("a line has %d bytes", len(lines[3]))
			}
		})
	}
}

func TestALoggerThatDiscardsStaysOne(*testing.T) {
	Wrap(logr.Discard()).Info("nothing")
}
