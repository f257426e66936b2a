package sim

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
)

// door stands before the SDK and refuses what the HTTP server of a vCenter refuses before it looks at the call.
type door struct {
	sdk http.HandlerFunc
	// anyAction lets requests in whose header SOAPAction names no version of the API.
	anyAction bool
	// noVersions hides the file that says which versions of the API there are.
	noVersions bool
	sessions   httpSessions
}

// open puts the door before the SDK's paths. The simulator registers them for all methods; a pattern with a method wins over those.
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

// refuseVersion answers as VMware's own server does to a namespace that it does not know.
func refuseVersion(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+
		`<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body><soapenv:Fault>`+
		`<faultcode>vim:VersionMismatchFaultCode</faultcode><faultstring>Unsupported version URI</faultstring><detail/>`+
		`</soapenv:Fault></soapenv:Body></soapenv:Envelope>`)
}
