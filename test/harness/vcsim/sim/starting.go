package sim

import (
	"net/http"

	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
)

// Starting is the answer of a vCenter's web server to any request while vpxd starts: an HTML page.
func Starting() faultproxy.Fault {
	return faultproxy.Fault{
		Act: faultproxy.Answer, Status: http.StatusServiceUnavailable, ContentType: "text/html",
		Body: []byte("<!DOCTYPE html><html><head><title>503</title></head><body><h1>503 Service Unavailable</h1><p>Failed to connect to endpoint</body></html>"),
	}
}
