package plan

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Failures that end automatically, and others, share a reason: the group is stalled if one of the others occurs.
func TestAFailureThatStaysIsNotHiddenByOneThatEnds(t *testing.T) {
	passing, stays := failure{reason: v1alpha1.ReasonOperationFailed, message: "busy"}, failure{reason: v1alpha1.ReasonOperationFailed, message: "never", terminal: true}
	for _, order := range [][]failure{{passing, stays}, {stays, passing}, {passing, stays, passing}} {
		var b blockers
		for i := range order {
			b.addFailure(&order[i])
		}
		if all := b.sorted(); len(all) != 1 || !all[0].Terminal {
			t.Errorf("failures %+v give the blockers %+v, want one terminal", order, all)
		}
	}
}

// checkBriefs: a brief message about VMs begins with the name or number of VMs, or with the invalid field.
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

// A taken name that only moves the group to another ordinal does not hide a blocking failure with the same reason.
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
