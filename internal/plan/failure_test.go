package plan

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// vCenter refuses a change with ConcurrentAccess if a person changed the VM at the same moment. The next attempt observes the VM anew.
func TestAConflictIsReportedIfItHappensAgain(t *testing.T) {
	mark := func(kind vsphere.Kind, count int) option {
		return failed(vsphere.Failure{Kind: vsphere.OpMark, Err: said{kind, "Refused."}, Count: count, RetryAt: epoch.Add(time.Second)})
	}
	runRules(t, []rule{
		{"once", input(0, has(makeVM(0)), mark(vsphere.KindConflict, 1)), want{vms: "0:Deleting", doomed: "0", wakeIn: time.Second}, nil},
		{"twice", input(0, has(makeVM(0)), mark(vsphere.KindConflict, 2)), want{blockers: "OperationFailed", vms: "0:Deleting", doomed: "0", wakeIn: time.Second}, []string{"Refused."}},
		{"another failure", input(0, has(makeVM(0)), mark(vsphere.KindTransient, 1)), want{blockers: "OperationFailed", vms: "0:Deleting", doomed: "0", wakeIn: time.Second}, []string{"Refused."}},
	})
}
