package logsink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// written is a line of the log, and when it was written.
type written struct {
	at         time.Time
	Msg        string  `json:"msg"`
	Name       string  `json:"name"`
	Suppressed float64 `json:"suppressed"`
}

func recorded(t *testing.T) (logr.Logger, *[]written) {
	t.Helper()
	var all []written
	log := funcr.NewJSON(func(line string) {
		w := written{at: time.Now()}
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		all = append(all, w)
	}, funcr.Options{})
	return Bounded(log, time.Now), &all
}

// mostInAMinute returns how many lines were written in any minute at most.
func mostInAMinute(lines []written) int {
	most := 0
	for i, first := range lines {
		n := 0
		for _, line := range lines[i:] {
			if line.at.Sub(first.at) < time.Minute {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// TestAnOutageLogsFiveLinesAMinute: a hundred groups fail each second, and other parts, too, in words of their own.
func TestAnOutageLogsFiveLinesAMinute(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("no route to host")}
	resource := schema.GroupResource{Resource: "vmgroups"}
	for story, c := range map[string]struct {
		about []any
		ways  []error
	}{
		"a vCenter does not answer": {[]any{"vcenter", "default"}, []error{
			&vsphere.Error{Kind: vsphere.KindTransient, Op: "clone"}, fmt.Errorf("read: %w", dial), context.DeadlineExceeded,
		}},
		"a vCenter rejects the password": {[]any{"VCenter", klog.KRef("", "default")}, []error{
			&vsphere.Error{Kind: vsphere.KindCredentials, Op: "log in"},
		}},
		"a member does not answer": {[]any{"member", "team-a"}, []error{
			dial, io.ErrUnexpectedEOF, apierrors.NewServiceUnavailable("starting"), apierrors.NewInternalError(errors.New("etcd")), apierrors.NewTooManyRequests("busy", 1),
		}},
		"a member's token was revoked": {[]any{"member", "team-a"}, []error{apierrors.NewUnauthorized("revoked"), fmt.Errorf("list: %w", apierrors.NewUnauthorized("revoked"))}},
		"the hub does not answer":      {nil, []error{dial, apierrors.NewTimeoutError("late", 1), context.DeadlineExceeded}},
		"one way that is no outage":    {[]any{"member", "team-a"}, []error{apierrors.NewForbidden(resource, "web", nil)}},
	} {
		t.Run(story, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, lines := recorded(t)
				log = log.WithValues(c.about...)
				const groups, seconds = 100, 300
				for range seconds {
					for i := range groups {
						err, message := c.ways[i%len(c.ways)], "Reconciler error"
						if outage(err) != "" {
							message = fmt.Sprintf("part %d fails", i%7)
						}
						log.WithName("vmgroup").WithValues("name", fmt.Sprintf("vg-%d", i)).Error(err, message)
					}
					<-time.After(time.Second)
				}
				if most := mostInAMinute(*lines); most != mostLines {
					t.Errorf("%d lines were written in a minute, want %d", most, mostLines)
				}
				if n := len(*lines); n < mostLines*seconds/60 {
					t.Errorf("only %d lines were written in %d seconds", n, seconds)
				}
				<-time.After(time.Minute)
				log.Error(c.ways[0], "Reconciler error")
				count := len(*lines)
				for _, line := range *lines {
					count += int(line.Suppressed)
				}
				if want := groups*seconds + 1; outage(c.ways[0]) != "" && count != want {
					t.Errorf("lines and what they say was left out come to %d, want %d", count, want)
				}
			})
		})
	}
}

// TestOneOutageHidesNoOther, and lines of level info are not bounded.
func TestOneOutageHidesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, lines := recorded(t)
		away := &vsphere.Error{Kind: vsphere.KindTransient, Op: "read"}
		for range 100 {
			log.WithValues("member", "team-a").Error(away, "fails", "vcenter", "one")
		}
		for _, other := range []func(){
			func() { log.Error(away, "fails", "vcenter", "two") },
			func() { log.Error(away, "fails", "member", "team-a") },
			func() { log.Error(away, "fails") },
			func() { log.Error(&vsphere.Error{Kind: vsphere.KindCredentials}, "fails", "vcenter", "one") },
			func() { log.Error(&vsphere.Error{Kind: vsphere.KindPermission}, "fails", "vcenter", "one") },
			func() { log.Error(&vsphere.Error{Kind: vsphere.KindPermission}, "fails otherwise", "vcenter", "one") },
			func() { log.WithName("other").Error(errors.New("a bug"), "fails", "vcenter", "one") },
			func() {
				log.Error(errors.New("no template"), "Group changed", "vcenter", "one", "reason", "TemplateNotFound")
			},
			func() {
				log.Error(errors.New("no pool"), "Group changed", "vcenter", "one", "reason", "PlacementNotFound")
			},
			func() { log.Info("fails", "vcenter", "one") },
		} {
			before := len(*lines)
			if other(); len(*lines) != before+1 {
				t.Errorf("line %d was not written", before+1)
			}
		}
		before := len(*lines)
		for _, reason := range []string{v1alpha1.ReasonVCenterUnreachable, v1alpha1.ReasonUnreachable, v1alpha1.ReasonInvalidLogin} {
			log.Error(errors.New("it does not answer"), "Group changed", "vcenter", "one", "reason", reason)
		}
		if n := len(*lines) - before; n != 1 {
			t.Errorf("%d lines of groups were written besides those of their vCenter's outage, want that of the credentials alone", n)
		}
	})
}

// TestCausesAreForgotten: the texts of libraries are causes, too, so there could be any number of them.
func TestCausesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, lines := recorded(t)
		for i := range 100_000 {
			log.Error(nil, fmt.Sprintf("text %d", i))
		}
		account := log.GetSink().(bounded).account
		if n := len(account.causes); n > mostCauses+1 {
			t.Errorf("%d causes are remembered", n)
		}
		if n := len(*lines); n != mostCauses+mostLines {
			t.Errorf("%d lines were written, want %d", n, mostCauses+mostLines)
		}
		<-time.After(window)
		if log.Error(nil, "another"); len(account.causes) != 1 || (*lines)[len(*lines)-1].Msg != "another" {
			t.Errorf("after a minute %d causes are remembered, and the last line is %+v", len(account.causes), (*lines)[len(*lines)-1])
		}
	})
}

func TestWhatDiscardsStaysSo(*testing.T) { Bounded(logr.Discard(), time.Now).Error(nil, "nothing") }

// TestALineOfLevelErrorSaysWhy also where the caller has no error.
func TestALineOfLevelErrorSaysWhy(t *testing.T) {
	var out strings.Builder
	log := funcr.NewJSON(func(line string) { out.WriteString(line) }, funcr.Options{})
	if Harmless(log).Error(nil, "The session ended"); !strings.Contains(out.String(), `"error":"The session ended"`) {
		t.Errorf("the line is %s", out.String())
	}
}
