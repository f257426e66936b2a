package sim

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
)

// door is the handler in front of the SDK. It rejects requests that the HTTP server of a vCenter rejects before it
// parses the call.
type door struct {
	sdk http.HandlerFunc
	// anyAction accepts requests whose header SOAPAction names no version of the API.
	anyAction bool
	// noVersions hides the file that lists the versions of the API.
	noVersions bool
	sessions   httpSessions
}

// open puts the handler in front of the SDK's paths. The simulator registers them for all methods, and a pattern with a method takes
// precedence.
func (d *door) open(service *simulator.Service) {
	d.sdk = service.ServeSDK
	service.ServeMux = http.NewServeMux()
	for _, path := range []string{vim25.Path, vim25.Path + "/vimService"} {
		service.ServeMux.Handle("POST "+path, d)
	}
	if d.noVersions {
		service.ServeMux.Handle("GET "+vim25.Path+"/vimServiceVersions.xml", http.NotFoundHandler())
	}
}

// ServeHTTP implements http.Handler.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if action := strings.Trim(r.Header.Get("SOAPAction"), `"`); !d.anyAction && !strings.HasPrefix(action, "urn:"+vim25.Namespace+"/") {
		refuseVersion(w)
		return
	}
	if !d.sessions.enter(w, r) {
		http.Error(w, fmt.Sprintf("Out of HTTP sessions: Limited to %d", d.sessions.most), http.StatusServiceUnavailable)
		return
	}
	d.sdk(w, r)
	d.sessions.leave(w.Header(), r)
}

// refuseVersion answers as VMware's server does for an unknown namespace.
func refuseVersion(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+
		`<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body><soapenv:Fault>`+
		`<faultcode>vim:VersionMismatchFaultCode</faultcode><faultstring>Unsupported version URI</faultstring><detail/>`+
		`</soapenv:Fault></soapenv:Body></soapenv:Envelope>`)
}
