package logsink

import (
	"bytes"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

const evil = "vm\x1b[2J\u202e\n0"

func TestTheLogHoldsNothingThatControlsATerminal(t *testing.T) {
	for name, encoder := range map[string]zap.Opts{"json": zap.JSONEncoder(), "console": zap.ConsoleEncoder()} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			log := Harmless(zap.New(zap.WriteTo(&out), encoder, zap.StacktraceLevel(zapcore.PanicLevel)))
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

// TestWhatIsTextUnderAnotherTypeIsTreated, and bounded. What holds nothing of others is logged as it was.
func TestWhatIsTextUnderAnotherTypeIsTreated(t *testing.T) {
	logged := func(value any) string {
		var out bytes.Buffer
		Harmless(zap.New(zap.WriteTo(&out), zap.JSONEncoder())).WithValues("with", value).Info("message", "value", value)
		return out.String()
	}
	long := strings.Repeat("x", 100_000)
	for name, values := range map[string][2]any{
		"UID":       {types.UID(evil), types.UID(long)},
		"reference": {klog.KRef(evil, "web"), klog.KRef("default", long)},
		"name":      {types.NamespacedName{Namespace: "default", Name: evil}, types.NamespacedName{Name: long}},
		"pointer":   {&url.URL{Opaque: evil}, &url.URL{Opaque: long}},
	} {
		t.Run(name, func(t *testing.T) {
			out := logged(values[0])
			if strings.Contains(out, `\u001b`) || strings.Contains(out, "\u202e") || strings.Contains(out, `\n`) {
				t.Errorf("the log has %q", out)
			}
			if out := logged(values[1]); len(out) > 10_000 {
				t.Errorf("a line has %d bytes", len(out))
			}
		})
	}
	for want, value := range map[string]any{
		`{"name":"web","namespace":"default"}`: klog.KRef("default", "web"),
		`1767355200`:                           time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC),
		`1.5`:                                  1500 * time.Millisecond,
		`"<nil>"`:                              (*url.URL)(nil),
	} {
		if out := logged(value); !strings.Contains(out, `"value":`+want) {
			t.Errorf("the log has %q, want %s", out, want)
		}
	}
}

// TestABodyThatEndsEarlyIsReportedByItsReaderOnly: client-go logs it at level error, and returns it.
func TestABodyThatEndsEarlyIsReportedByItsReaderOnly(t *testing.T) {
	var lines []string
	log := Harmless(funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	log.Error(errors.New("context canceled"), "Unexpected error when reading response body")
	log.Error(errors.New("context canceled"), "Something else")
	if len(lines) != 1 || !strings.Contains(lines[0], "Something else") {
		t.Errorf("logged %q", lines)
	}
}

func TestALoggerThatDiscardsStaysOne(*testing.T) {
	Harmless(logr.Discard()).Info("nothing")
}
