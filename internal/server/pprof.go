package server

import (
	"net/http"
	"net/http/pprof"
)

// profilesPath is the path of profiles of the process, on the metrics port.
const profilesPath = "/debug/pprof/"

// addProfiles serves profiles to clients that guard allows. The hub's RBAC decides by path, so permission to read metrics does not include profiles: they
// show names in memory, and taking them costs time. The command line is omitted; docs/reference/cli.md lists the flags.
func addProfiles(mux *http.ServeMux, guard reviews) {
	for path, handler := range map[string]http.HandlerFunc{
		profilesPath: pprof.Index, profilesPath + "profile": pprof.Profile, profilesPath + "trace": pprof.Trace, profilesPath + "symbol": pprof.Symbol,
	} {
		mux.Handle(path, guard.before(handler))
	}
	mux.Handle(profilesPath+"cmdline", http.NotFoundHandler())
}
