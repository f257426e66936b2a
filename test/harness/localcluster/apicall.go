//go:build unix

package localcluster

import (
	"net/http"
	"strings"
)

// APICall is a request to an API server.
type APICall struct {
	// Number counts the requests of a proxy from 1.
	Number int
	// Verb in RBAC's spelling: get, list, watch, create, update, patch, delete, deletecollection.
	Verb string
	// Group, Resource and so on as in RBAC. All are empty for a path that is no resource.
	Group, Resource, Subresource, Namespace, Name string
	// Limit of a list, or empty.
	Limit string
	// ResourceVersion in the query of a read, or empty.
	ResourceVersion string
	// Path of the request.
	Path string
	// DryRun is true if the request changes nothing.
	DryRun bool
	// UserAgent of the client.
	UserAgent string
	// Header of the request. A hook can change it before the request is forwarded.
	Header http.Header
	// Body of the request.
	Body []byte
}

// Writes reports whether the request can change an object.
func (c APICall) Writes() bool {
	switch c.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return c.Resource != ""
	default:
		return false
	}
}

// ParseAPICall derives the call from the method and path of a request, as the API server does: /api/v1/namespaces/x/secrets/y,
// /apis/<group>/<version>/<resource>/<name>/<subresource>.
func ParseAPICall(r *http.Request) APICall {
	query := r.URL.Query()
	call := APICall{Path: r.URL.Path, DryRun: query.Has("dryRun"), UserAgent: r.UserAgent(), Header: r.Header, Limit: query.Get("limit"), ResourceVersion: query.Get("resourceVersion")}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		call.Group, parts = parts[1], parts[3:]
	default:
		call.Verb = "get"
		return call
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		call.Namespace, parts = parts[1], parts[2:]
	}
	call.Resource = parts[0]
	if len(parts) > 1 {
		call.Name = parts[1]
	}
	if len(parts) > 2 {
		call.Subresource = parts[2]
	}
	call.Verb = verbOf(r, call.Name != "")
	return call
}

func verbOf(r *http.Request, named bool) string {
	watch := r.URL.Query().Get("watch")
	switch {
	case r.Method == http.MethodPost:
		return "create"
	case r.Method == http.MethodPut:
		return "update"
	case r.Method == http.MethodPatch:
		return "patch"
	case r.Method == http.MethodDelete && named:
		return "delete"
	case r.Method == http.MethodDelete:
		return "deletecollection"
	case watch == "1" || watch == "true":
		return "watch"
	case named:
		return "get"
	default:
		return "list"
	}
}
