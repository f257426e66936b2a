package model

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// epoch is the start time of each history.
var epoch = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// Names of the world. There is one group.
const (
	groupName    = "web"
	namespace    = "shop"
	memberName   = "team-a"
	groupUID     = "0a1b2c3d-0000-4000-8000-000000000001"
	namespaceUID = "0a1b2c3d-0000-4000-8000-00000000000f"
	installation = "hub-1"
	memberUID    = "member-1"
	vcenterUUID  = "vcenter-1"
	vcenterName  = "default"
)

// world is the environment of one VmGroup.
type world struct {
	now     time.Time
	setup   Setup
	api     apiServer
	vc      vcenter
	catalog catalog
	hub     hub
	ledger  ledger
	op      operator
	agenda  agenda
	audit   audit
	// backups are copies of the group, oldest first.
	backups []backup
	log     *[]string
}

// newWorld returns a world with one group, which is new or an hour old.
func newWorld(setup Setup) *world {
	w := &world{now: epoch, setup: setup, log: new([]string)}
	w.catalog = newCatalog()
	w.vc = vcenter{world: w, refuse: map[string]refusal{}, pace: paceOf(setup)}
	w.ledger = ledger{limit: setup.Quota, others: setup.Others}
	w.op = operator{world: w, epoch: 1}
	created := epoch.Add(-time.Minute)
	if setup.Old {
		created = epoch.Add(-3 * time.Hour)
	}
	w.api = apiServer{world: w, version: 1, group: &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{
			Name: groupName, Namespace: namespace, UID: groupUID, Generation: 1, ResourceVersion: "1", CreationTimestamp: metav1.NewTime(created),
			Annotations: map[string]string{},
		},
		Spec: setup.spec(),
	}}
	if w.ledger.limited() {
		w.ledger.begin(0, 0)
	}
	w.op.wake("the group was created")
	return w
}

// say adds a line to the log of the run.
func (w *world) say(format string, args ...any) {
	if w.log != nil {
		*w.log = append(*w.log, w.now.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	}
}

// advance lets time pass.
func (w *world) advance(d time.Duration) {
	until := w.now.Add(d)
	w.settle()
	for !w.audit.failed() {
		next, due := w.agenda.next(until)
		if wake := w.op.wakeAt; !wake.IsZero() && !wake.After(until) && (!due || wake.Before(next)) {
			next, due = wake, true
		}
		if !due {
			break
		}
		w.now = maxTime(w.now, next)
		w.agenda.run(w.now)
		if wake := w.op.wakeAt; !wake.IsZero() && !wake.After(w.now) {
			w.op.wakeAt = time.Time{}
			w.op.wake("the time it asked for")
		}
		w.settle()
	}
	w.now = maxTime(w.now, until)
}

// mostPasses limits the consecutive passes at one moment. Each change of the group or of vCenter causes one.
const mostPasses = 120

// settle runs passes until none is due.
func (w *world) settle() {
	for range mostPasses {
		if !w.op.due || w.audit.failed() {
			return
		}
		w.op.pass()
	}
	if w.op.due {
		w.audit.violated(w, "hot-loop", "%d passes at one moment do not end", mostPasses)
	}
}

// agenda contains scheduled actions.
type agenda struct{ entries []entry }

type entry struct {
	at time.Time
	do func()
}

func (a *agenda) add(at time.Time, do func()) { a.entries = append(a.entries, entry{at, do}) }

// next returns the time of the earliest entry, if it is due by then.
func (a *agenda) next(until time.Time) (at time.Time, due bool) {
	for _, e := range a.entries {
		if !e.at.After(until) && (!due || e.at.Before(at)) {
			at, due = e.at, true
		}
	}
	return at, due
}

// run runs the due entries in the order of their addition.
func (a *agenda) run(now time.Time) {
	due := a.entries[:0:0]
	left := a.entries[:0:0]
	for _, e := range a.entries {
		if e.at.After(now) {
			left = append(left, e)
		} else {
			due = append(due, e)
		}
	}
	a.entries = left
	for _, e := range due {
		e.do()
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
