package operations

import (
	"cmp"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// keepFailures is the time for which a failure is remembered after its retry time.
const keepFailures = time.Hour

// Failures are the last failures of each kind of operation on each ordinal. A failure of another kind does not replace one. Otherwise two kinds that fail in
// turn would be retried without a pause, such as a change of a VM that is off and its start. The zero value is ready for use. It has no lock.
type Failures struct {
	of map[vsphere.GroupKey]map[attempt]*vsphere.Failure
}

// attempt identifies a retried operation.
type attempt struct {
	ordinal int32
	kind    vsphere.OperationKind
}

// Add stores a failure of a group. It sets Count and RetryAt from the earlier failures.
func (f *Failures) Add(group vsphere.GroupKey, failed vsphere.Failure) {
	if f.of == nil {
		f.of = map[vsphere.GroupKey]map[attempt]*vsphere.Failure{}
	}
	if f.of[group] == nil {
		f.of[group] = map[attempt]*vsphere.Failure{}
	}
	again := attempt{failed.Ordinal, failed.Kind}
	failed.Count = 1
	// If the VM's state differs from the last failure, the retry is early: vCenter only needs a moment.
	another := func(last *vsphere.Failure) bool { return failed.Kind.Ends() && last.Met != failed.Met }
	if last := f.of[group][again]; last != nil && last.Revision == failed.Revision && !another(last) {
		failed.Count = last.Count + 1
	}
	failed.RetryAt = failed.At.Add(Backoff(vsphere.KindOf(failed.Err), failed.Count))
	f.of[group][again] = &failed
}

// Succeeded forgets the earlier failures on an ordinal. A failed change of a VM stays known during other operations, because the VM is started again for
// them. A new VM of the ordinal clears it.
func (f *Failures) Succeeded(key Key, kind vsphere.OperationKind) {
	f.forget(key.Group, func(a attempt, _ *vsphere.Failure) bool {
		return a.ordinal == key.Ordinal && (a.kind != vsphere.OpReconfigure || kind == a.kind || kind == vsphere.OpClone)
	})
}

// Expire forgets failures without a retry for keepFailures.
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

// Of returns the failures of a group, sorted by ordinal and kind.
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
