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
	// mostLines of level error are written in [window] for each cause.
	mostLines = 5
	window    = time.Minute
	// mostCauses are told apart; the texts of libraries are among them, so there could be any number.
	mostCauses = 512
)

// Bounded returns a logger that writes to log at most five lines of level error a minute for each cause. The next line that it writes of that cause says in
// suppressed how many it left out. A cause is what failed: a VCenter, a member, or else the hub and this process, and in which way. Thousands of groups fail
// for one reason when a vCenter or a member does, and a log that holds nothing else helps nobody.
func Bounded(log logr.Logger, now func() time.Time) logr.Logger {
	under := log.GetSink()
	if under == nil {
		return log // it discards everything
	}
	if deeper, ok := under.(logr.CallDepthLogSink); ok {
		under = deeper.WithCallDepth(1)
	}
	return log.WithSink(bounded{LogSink: under, account: &account{now: now, causes: map[cause]*lines{}}})
}

// bounded is the sink of one logger. All that come from one logger share the account.
type bounded struct {
	logr.LogSink
	about   subject
	name    string
	account *account
}

var _ logr.CallDepthLogSink = bounded{}

// Init implements logr.LogSink. The logger that is wrapped did that.
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

// subject is what the values of a line say of what it is about.
type subject struct {
	vcenter, member, reason string
}

// with returns the subject after more values. controller-runtime names the object of a controller by its kind.
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

// what names the part that fails. A vCenter that fails does so for the groups of all members.
func (s subject) what() string {
	switch {
	case s.vcenter != "":
		return "vcenter/" + s.vcenter
	case s.member != "":
		return "member/" + s.member
	}
	return ""
}

// cause is what failed, and in which way.
type cause struct{ what, way string }

// account counts the lines of each cause.
type account struct {
	now    func() time.Time
	mu     sync.Mutex
	causes map[cause]*lines
}

type lines struct {
	// written are when the last ones were, the oldest first.
	written    []time.Time
	suppressed int
}

// next reports whether a line may be written now, and how many of its cause were not since the last one.
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

// forget drops causes of which nothing was written for a while.
func (a *account) forget(now time.Time) {
	maps.DeleteFunc(a.causes, func(_ cause, l *lines) bool { return now.Sub(l.written[len(l.written)-1]) >= window })
}
