//go:build unix

package hostileapi

import (
	"slices"
	"sync"

	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// Shown is an object of the API server on its way to a client.
type Shown struct {
	// Resource, Namespace and Name identify the object.
	Resource, Namespace, Name string
	// Object is the API server's object. A Lie can change it.
	Object Object
}

// Lie changes the answer about an object, and reports whether lists and watches contain the object. Several goroutines can call it.
type Lie func(Shown) bool

// Server changes the answers of an API server. Its methods are safe for concurrent use.
type Server struct {
	mu       sync.Mutex
	attack   Attack
	lies     []Lie
	invented map[key]Object
	// versions are the resource versions of invented objects. Requests for changes since such a version must not reach the API server.
	versions map[string]bool
	streams  map[*stream]struct{}
}

// key of an object.
type key struct{ resource, namespace, name string }

func keyOf(resource string, o Object) key {
	return key{resource, Text(o, "metadata", "namespace"), Text(o, "metadata", "name")}
}

// in reports whether a list or watch includes the object.
func (k key) in(call localcluster.APICall) bool {
	return k.resource == call.Resource && (call.Namespace == "" || call.Namespace == k.namespace)
}

// New returns a Server that changes nothing yet. Its Decide and Watch are hooks of a proxy.
func New() *Server {
	return &Server{invented: map[key]Object{}, versions: map[string]bool{}, streams: map[*stream]struct{}{}}
}

// Before returns a Server that changes the answers to all clients of a proxy. Call it before they connect.
func Before(proxy *localcluster.APIProxy) *Server {
	s := New()
	proxy.Hook(s.Decide)
	proxy.HookWatches(s.Watch)
	return s
}

// Lie adds a lie to later answers. Open watches do not repeat earlier events.
func (s *Server) Lie(lie Lie) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lies = append(s.lies, lie)
}

// Attack sets the attack for later requests. Nil ends the attack. Open watches stay.
func (s *Server) Attack(attack Attack) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attack = attack
}

// show applies all lies to an object, and reports whether clients see it.
func (s *Server) show(resource string, o Object) bool {
	k := keyOf(resource, o)
	if k.name == "" {
		return true // a bookmark, or no object of the API server
	}
	s.mu.Lock()
	lies := slices.Clone(s.lies)
	_, replaced := s.invented[k]
	s.mu.Unlock()
	for _, lie := range lies {
		if !lie(Shown{k.resource, k.namespace, k.name, o}) {
			return false
		}
	}
	return !replaced
}

// Invent adds an object that the API server does not have. It hides an object of the same name and replaces an earlier invented one. An
// object without a resource version, or with the version of its predecessor, gets a new version.
func (s *Server) Invent(resource string, o Object) {
	o = ObjectOf(o)
	k := keyOf(resource, o)
	s.mu.Lock()
	defer s.mu.Unlock()
	event, before := "ADDED", "0"
	if old, ok := s.invented[k]; ok {
		event, before = "MODIFIED", version(old)
	}
	if v := version(o); v == "" || v == before {
		Set(o, next(before), "metadata", "resourceVersion")
	}
	s.keep(k, event, o)
}

// Change changes an invented object and reports whether it exists. Its resource version grows, unless change sets it.
func (s *Server) Change(resource, namespace, name string, change func(Object)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{resource, namespace, name}
	old, ok := s.invented[k]
	if !ok {
		return false
	}
	o := ObjectOf(old)
	change(o)
	if version(o) == version(old) {
		Set(o, next(version(old)), "metadata", "resourceVersion")
	}
	s.keep(k, "MODIFIED", o)
	return true
}

// Forget deletes an invented object, whatever its finalizers.
func (s *Server) Forget(resource, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o, ok := s.invented[key{resource, namespace, name}]; ok {
		s.end(key{resource, namespace, name}, ObjectOf(o))
	}
}

// Invented returns an invented object, with the clients' changes. It returns false if the object does not exist.
func (s *Server) Invented(resource, namespace, name string) (Object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.invented[key{resource, namespace, name}]
	if !ok {
		return nil, false
	}
	return ObjectOf(o), true
}

// keep stores a version of an invented object and sends its event. The caller holds the lock.
func (s *Server) keep(k key, event string, o Object) {
	s.invented[k] = o
	s.tell(k, event, o)
}

// end deletes an invented object and sends the event. The caller holds the lock.
func (s *Server) end(k key, o Object) {
	delete(s.invented, k)
	Set(o, next(version(o)), "metadata", "resourceVersion")
	s.tell(k, "DELETED", o)
}

func (s *Server) tell(k key, event string, o Object) {
	s.versions[version(o)] = true
	for st := range s.streams {
		if k.in(st.call) {
			st.tell(Object{"type": event, "object": o})
		}
	}
}
