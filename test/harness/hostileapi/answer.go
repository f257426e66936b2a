//go:build unix

package hostileapi

import (
	"net/http"
	"strings"

	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

const (
	jsonType  = "application/json"
	patchType = "application/merge-patch+json"
)

// Decide is the hook for requests. See localcluster.APIProxy.Hook.
func (s *Server) Decide(call localcluster.APICall) faultproxy.Fault {
	s.mu.Lock()
	attack := s.attack
	s.mu.Unlock()
	if attack != nil {
		if serve := attack(call); serve != nil {
			return faultproxy.Fault{Act: faultproxy.Answer, Serve: serve}
		}
	}
	if call.Resource == "" {
		return faultproxy.Fault{}
	}
	askForJSON(call.Header)
	switch call.Verb {
	case "get", "patch":
		if fault, ok := s.ofInvented(call); ok {
			return fault
		}
	case "list", "watch":
		if s.madeUp(call.ResourceVersion) {
			return failure(http.StatusGone, "Expired", "too old resource version: "+call.ResourceVersion)
		}
	}
	if call.Verb == "watch" {
		return faultproxy.Fault{} // see Watch
	}
	return faultproxy.Fault{Edit: func(answer []byte) []byte { return s.edit(call, answer) }}
}

// askForJSON restricts the accepted types of a request to JSON, for whole objects or for the parts that the client wants.
func askForJSON(header http.Header) {
	var wanted []string
	for kind := range strings.SplitSeq(strings.Join(header.Values("Accept"), ","), ",") {
		if kind = strings.TrimSpace(kind); strings.HasPrefix(kind, jsonType) {
			wanted = append(wanted, kind)
		}
	}
	if len(wanted) == 0 {
		wanted = []string{jsonType}
	}
	header.Set("Accept", strings.Join(wanted, ","))
	header.Del("Accept-Encoding") // Go's client then decompresses automatically
}

// madeUp reports whether a resource version is invented and not the API server's.
func (s *Server) madeUp(version string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions[version]
}

// edit returns the replacement of an API server's answer.
func (s *Server) edit(call localcluster.APICall, answer []byte) []byte {
	o, err := decode(answer)
	if err != nil || o["kind"] == "Status" {
		return answer
	}
	if call.Verb != "list" {
		s.show(call.Resource, o)
		return encode(o)
	}
	items, _ := o["items"].([]any)
	shown := []any{}
	for _, item := range items {
		if one, ok := item.(Object); !ok || s.show(call.Resource, one) {
			shown = append(shown, item)
		}
	}
	if call.Limit == "" {
		s.mu.Lock()
		for k, one := range s.invented {
			if k.in(call) {
				shown = append(shown, ObjectOf(one))
			}
		}
		s.mu.Unlock()
	}
	o["items"] = shown
	return encode(o)
}

// ofInvented answers a request about one invented object. ok is false if the request is about another object.
func (s *Server) ofInvented(call localcluster.APICall) (_ faultproxy.Fault, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{call.Resource, call.Namespace, call.Name}
	o, ok := s.invented[k]
	if !ok {
		return faultproxy.Fault{}, false
	}
	if call.Verb == "get" {
		return reply(http.StatusOK, o), true
	}
	return s.patch(k, ObjectOf(o), call), true
}

// patch patches an invented object as an API server would. The caller holds the lock.
func (s *Server) patch(k key, o Object, call localcluster.APICall) faultproxy.Fault {
	patch, err := decode(call.Body)
	if kind := call.Header.Get("Content-Type"); kind != patchType || err != nil {
		return failure(http.StatusUnsupportedMediaType, "UnsupportedMediaType", "only merge patches are taken, not "+kind)
	}
	if wanted := version(patch); wanted != "" && wanted != version(o) {
		return failure(http.StatusConflict, "Conflict", "the object has been modified")
	}
	if call.Subresource == "" {
		delete(patch, "status")
	} else {
		patch = Object{call.Subresource: patch[call.Subresource]}
	}
	merge(o, patch)
	metadata, _ := o["metadata"].(Object)
	finalizers, _ := metadata["finalizers"].([]any)
	if metadata["deletionTimestamp"] != nil && len(finalizers) == 0 {
		s.end(k, o)
		return reply(http.StatusOK, o)
	}
	Set(o, next(version(o)), "metadata", "resourceVersion")
	s.keep(k, "MODIFIED", o)
	return reply(http.StatusOK, o)
}

func reply(status int, o Object) faultproxy.Fault {
	return faultproxy.Fault{Act: faultproxy.Answer, Status: status, ContentType: jsonType, Body: encode(o)}
}

func failure(code int, reason, message string) faultproxy.Fault {
	return reply(code, Object{
		"kind": "Status", "apiVersion": "v1", "metadata": Object{}, "status": "Failure", "reason": reason, "message": message, "code": code,
	})
}
