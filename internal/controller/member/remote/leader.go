package remote

import (
	"errors"
	"net/http"

	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// ErrNotLeading refuses a write to a member by a replica that does not lead. It is no failure: the leader does it.
var ErrNotLeading = errors.New("this is left to the replica that leads")

// leaderTransport checks before each write whether this replica leads. So all replicas take the same path through
// the bootstrap, and those that do not lead stop where the leader has not been yet.
type leaderTransport struct {
	http.RoundTripper
	sharding.Leader
}

// RoundTrip returns [ErrNotLeading] for a write on a replica that does not lead.
func (t leaderTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && !t.Leading() {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, ErrNotLeading
	}
	return t.RoundTripper.RoundTrip(request)
}
