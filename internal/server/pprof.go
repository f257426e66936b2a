package server

import (
	"net/http"
	"net/http/pprof"
)

// profilesPath is where profiles of the process are, beside the metrics.
const profilesPath = "/debug/pprof/"

// addProfiles serves profiles to those whom guard lets through. The hub's RBAC decides by path, so that who may read metrics may not read profiles: they show
// names in memory, and taking them costs time. The command line is left out; docs/reference/cli.md has the flags.
func addProfiles(mux *http.ServeMux, guard reviews) {
	for path, handler := range map[string]http.HandlerFunc{
		profilesPath: pprof.Index, profilesPath + "profile": pprof.Profile, profilesPath + "trace": pprof.Trace, profilesPath + "symbol": pprof.Symbol,
	} {
		mux.Handle(path, guard.before(handler))
	}
	mux.Handle(profilesPath+"cmdline", http.NotFoundHandler())
}
