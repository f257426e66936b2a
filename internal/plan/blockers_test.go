package plan

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// One reason is that of failures which end by themselves, and of others: the group is stalled if one of them is.
func TestAFailureThatStaysIsNotHiddenByOneThatEnds(t *testing.T) {
	passing, stays := failure{reason: v1alpha1.ReasonOperationFailed, message: "busy"}, failure{reason: v1alpha1.ReasonOperationFailed, message: "never", terminal: true}
	for _, order := range [][]failure{{passing, stays}, {stays, passing}, {passing, stays, passing}} {
		var b blockers
		for i := range order {
			b.addFailure(&order[i])
		}
		if all := b.sorted(); len(all) != 1 || !all[0].Terminal {
			t.Errorf("of %+v is told %+v", order, all)
		}
	}
}

// checkBriefs: what is said of VMs in few words begins with one of them, with how many there are, or with the field that is wrong.
func checkBriefs(fail func(string, ...any), p Plan) {
	for _, b := range p.Blockers {
		brief := cmp.Or(b.Brief, b.Message)
		named := func(text string, is func(s, name string) bool) bool {
			return slices.ContainsFunc(p.VMs, func(vm VMStatus) bool { return is(text, vm.Name) })
		}
		if named(b.Message, strings.Contains) && !named(brief, strings.HasPrefix) && !begins.MatchString(brief) {
			fail("%q names a VM, and in few words: %q", b.Message, brief)
		}
	}
}

var begins = regexp.MustCompile(`^([0-9]+ (of [0-9]+ )?VMs? |spec\.|web-[0-9]+)`)

// A name that only makes the group use another ordinal hides no failure of the same reason that holds something up.
func TestARemarkHidesNoFailure(t *testing.T) {
	remark, fails := &failure{reason: "NameConflict", message: "a name is taken"}, &failure{reason: "NameConflict", message: "a VM cannot be moved"}
	for _, first := range []bool{true, false} {
		var b blockers
		if first {
			b.addRemark(remark)
		}
		b.addFailure(fails)
		if !first {
			b.addRemark(remark)
		}
		if all := b.sorted(); len(all) != 1 || all[0].Remark || !strings.HasPrefix(all[0].Message, fails.message) {
			t.Errorf("the remark came first %v: %+v", first, all)
		}
	}
}
