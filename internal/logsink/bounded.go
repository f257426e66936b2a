package logsink

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

const (
	// mostLines is the limit of lines of level error for each cause in one [window].
	mostLines = 5
	window    = time.Minute
	// mostCauses is the limit of causes that are counted separately. A cause can contain the text of a library, so the number of causes is unbounded.
	mostCauses = 512
)

// Bounded returns a logger that writes to log at most five lines of level error a minute for each cause. The next line of that cause has the number of
// omitted lines in key suppressed. A cause is an object and a way of failing. The object is a VCenter, a member, or else the hub and this process. If a
// vCenter or a member fails, thousands of groups fail for the same reason, and their lines would bury all others.
func Bounded(log logr.Logger, now func() time.Time) logr.Logger {
	under := log.GetSink()
	if under == nil {
		return log // log discards everything
	}
	if deeper, ok := under.(logr.CallDepthLogSink); ok {
		under = deeper.WithCallDepth(1)
	}
	return log.WithSink(bounded{LogSink: under, account: &account{now: now, causes: map[cause]*lines{}}})
}

// bounded is the sink of one logger. Loggers that derive from the same logger share the account.
type bounded struct {
	logr.LogSink
	about   subject
	name    string
	account *account
}

var _ logr.CallDepthLogSink = bounded{}

// Init implements logr.LogSink. The wrapped sink is initialized already.
func (bounded) Init(logr.RuntimeInfo) {}

func (b bounded) Error(err error, message string, keysAndValues ...any) {
	about := b.about.with(keysAndValues)
	suppressed, write := b.account.next(cause{about.what(), wayOf(err, b.name, message, about.reason)})
	if !write {
		return
	}
	if suppressed > 0 {
		keysAndValues = append(slices.Clip(keysAndValues), "suppressed", suppressed)
	}
	b.LogSink.Error(err, message, keysAndValues...)
}

func (b bounded) WithValues(keysAndValues ...any) logr.LogSink {
	b.LogSink, b.about = b.LogSink.WithValues(keysAndValues...), b.about.with(keysAndValues)
	return b
}

func (b bounded) WithName(name string) logr.LogSink {
	b.LogSink, b.name = b.LogSink.WithName(name), b.name+"."+name
	return b
}

func (b bounded) WithCallDepth(depth int) logr.LogSink {
	if deeper, ok := b.LogSink.(logr.CallDepthLogSink); ok {
		b.LogSink = deeper.WithCallDepth(depth)
	}
	return b
}

// subject is the failing object of a line, from the keys and values of the line.
type subject struct {
	vcenter, member, reason string
}

// with adds keys and values to the subject. controller-runtime uses the kind of a controller's object as the key.
func (s subject) with(keysAndValues []any) subject {
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		switch keysAndValues[i] {
		case "vcenter", "VCenter":
			s.vcenter = nameIn(keysAndValues[i+1])
		case "member", "MemberCluster":
			s.member = nameIn(keysAndValues[i+1])
		case "reason":
			s.reason = nameIn(keysAndValues[i+1])
		}
	}
	return s
}

func nameIn(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case klog.ObjectRef:
		return v.Name
	}
	return fmt.Sprint(value)
}

// what names the failing object. A failed vCenter affects the groups of all members, so it precedes the member.
func (s subject) what() string {
	switch {
	case s.vcenter != "":
		return "vcenter/" + s.vcenter
	case s.member != "":
		return "member/" + s.member
	}
	return ""
}

// cause is a failing object and its way of failing.
type cause struct{ what, way string }

// account counts the lines of each cause.
type account struct {
	now    func() time.Time
	mu     sync.Mutex
	causes map[cause]*lines
}

type lines struct {
	// written are the times of the last lines, oldest first.
	written    []time.Time
	suppressed int
}

// next reports whether a line can be written now, and how many lines of its cause were suppressed since the last written one.
func (a *account) next(of cause) (suppressed int, write bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	recent, known := a.causes[of]
	if !known {
		if len(a.causes) >= mostCauses {
			a.forget(now)
		}
		if len(a.causes) >= mostCauses {
			of = cause{way: "one of too many"}
			recent = a.causes[of]
		}
		if recent == nil {
			recent = &lines{}
			a.causes[of] = recent
		}
	}
	if len(recent.written) == mostLines {
		if now.Sub(recent.written[0]) < window {
			recent.suppressed++
			return 0, false
		}
		recent.written = slices.Delete(recent.written, 0, 1)
	}
	recent.written = append(recent.written, now)
	suppressed, recent.suppressed = recent.suppressed, 0
	return suppressed, true
}

// forget drops causes without a line in the last window.
func (a *account) forget(now time.Time) {
	maps.DeleteFunc(a.causes, func(_ cause, l *lines) bool { return now.Sub(l.written[len(l.written)-1]) >= window })
}
