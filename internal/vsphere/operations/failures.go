package operations

import (
	"cmp"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// keepFailures is how long a failure is remembered after the time to try again.
const keepFailures = time.Hour

// Failures are what failed last, of each kind of operation on each ordinal. One of another kind does not replace it: two that fail in turn, as a change of a
// VM that is off and its start, would both be tried again without a pause. The zero value is ready for use. It has no lock.
type Failures struct {
	of map[vsphere.GroupKey]map[attempt]*vsphere.Failure
}

// attempt is what is tried again.
type attempt struct {
	ordinal int32
	kind    vsphere.OperationKind
}

// Add remembers a failure of a group, which has neither a Count nor a time to try again: these follow from what failed before.
func (f *Failures) Add(group vsphere.GroupKey, failed vsphere.Failure) {
	if f.of == nil {
		f.of = map[vsphere.GroupKey]map[attempt]*vsphere.Failure{}
	}
	if f.of[group] == nil {
		f.of[group] = map[attempt]*vsphere.Failure{}
	}
	again := attempt{failed.Ordinal, failed.Kind}
	failed.Count = 1
	// What meets another VM may soon work: vCenter only needs a moment more.
	another := func(last *vsphere.Failure) bool { return failed.Kind.Ends() && last.Met != failed.Met }
	if last := f.of[group][again]; last != nil && last.Revision == failed.Revision && !another(last) {
		failed.Count = last.Count + 1
	}
	failed.RetryAt = failed.At.Add(Backoff(vsphere.KindOf(failed.Err), failed.Count))
	f.of[group][again] = &failed
}

// Succeeded forgets what failed before on an ordinal. That a VM could not be changed stays known while something else is done to it: it is started again for
// that. Once an ordinal has another VM nothing is known of that.
func (f *Failures) Succeeded(key Key, kind vsphere.OperationKind) {
	f.forget(key.Group, func(a attempt, _ *vsphere.Failure) bool {
		return a.ordinal == key.Ordinal && (a.kind != vsphere.OpReconfigure || kind == a.kind || kind == vsphere.OpClone)
	})
}

// Expire forgets what nobody has tried again for long.
func (f *Failures) Expire(now time.Time) {
	for group := range f.of {
		f.forget(group, func(_ attempt, failed *vsphere.Failure) bool { return now.Sub(failed.RetryAt) > keepFailures })
	}
}

func (f *Failures) forget(group vsphere.GroupKey, is func(attempt, *vsphere.Failure) bool) {
	all := f.of[group]
	for a, failed := range all {
		if is(a, failed) {
			delete(all, a)
		}
	}
	if len(all) == 0 {
		delete(f.of, group)
	}
}

// Of returns those of a group, sorted by ordinal and kind.
func (f *Failures) Of(group vsphere.GroupKey) []vsphere.Failure {
	out := make([]vsphere.Failure, 0, len(f.of[group]))
	for _, failed := range f.of[group] {
		out = append(out, *failed)
	}
	slices.SortFunc(out, func(a, b vsphere.Failure) int {
		return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}
