//go:build unix

package crash

import (
	"encoding/json"
	"net/http"
	"time"

	vimtypes "github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// hangFor is how long a call hangs. It is longer than the manager's limit for a glitch and shorter than its
// deadlines, so that other work continues during the call.
const hangFor = 3 * time.Second

// faultAt returns the fault of a point. kill ends the manager; it does nothing once the trial is over.
func faultAt(p Point, kill func()) faultproxy.Fault {
	switch p.Mode {
	case CrashBefore:
		kill()
		return faultproxy.Fault{Act: faultproxy.CutBefore}
	case CrashAfter:
		return faultproxy.Fault{Act: faultproxy.CutAfter, After: kill}
	case LoseReply:
		return faultproxy.Fault{Act: faultproxy.CutAfter}
	case Hang:
		if p.variation(2) == 0 {
			return faultproxy.Fault{Act: faultproxy.CutBefore, Delay: hangFor}
		}
		return faultproxy.Fault{Act: faultproxy.CutAfter, After: func() { <-time.After(hangFor) }}
	case Error:
		return errorAt(p)
	}
	return faultproxy.Fault{}
}

// errorAt selects one of the errors that a healthy server sometimes returns.
func errorAt(p Point) faultproxy.Fault {
	if p.Server == VCenter {
		faults := []faultproxy.Fault{
			sim.SOAPFault(&vimtypes.SystemError{Reason: "planted"}),
			sim.SOAPFault(&vimtypes.HostCommunication{}),
			{Act: faultproxy.Answer, Status: http.StatusServiceUnavailable, ContentType: "text/plain", Body: []byte("no healthy upstream")},
			{Act: faultproxy.Truncate},
		}
		return faults[p.variation(len(faults))]
	}
	statuses := []metav1.Status{
		{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: "planted"},
		{Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: "planted"},
		{Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests, Message: "planted"},
		{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable, Message: "planted"},
	}
	status := statuses[p.variation(len(statuses))]
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	status.Status = metav1.StatusFailure
	body, err := json.Marshal(status)
	if err != nil {
		panic(err) // a constant
	}
	return faultproxy.Fault{Act: faultproxy.Answer, Status: int(status.Code), ContentType: "application/json", Body: body}
}
