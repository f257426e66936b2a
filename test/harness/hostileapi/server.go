//go:build unix

package hostileapi

import (
	"slices"
	"sync"

	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// Shown is an object of the API server that is about to be shown.
type Shown struct {
	// Resource, Namespace and Name say which one it is.
	Resource, Namespace, Name string
	// Object is what the API server has; it may be changed.
	Object Object
}

// Lie changes what is shown of an object, and reports whether lists and watches show it at all. It is called by several
// goroutines.
type Lie func(Shown) bool

// Server lies in the name of an API server. Its methods are safe for concurrent use.
type Server struct {
	mu       sync.Mutex
	attack   Attack
	lies     []Lie
	invented map[key]Object
	// versions are those of invented objects. The API server must not be asked for what was there since.
	versions map[string]bool
	streams  map[*stream]struct{}
}

// key of an object.
type key struct{ resource, namespace, name string }

func keyOf(resource string, o Object) key {
	return key{resource, Text(o, "metadata", "namespace"), Text(o, "metadata", "name")}
}

// in reports whether a list or watch is about the object.
func (k key) in(call localcluster.APICall) bool {
	return k.resource == call.Resource && (call.Namespace == "" || call.Namespace == k.namespace)
}

// New returns a Server that tells the truth so far. Its Decide and Watch are hooks of a proxy.
func New() *Server {
	return &Server{invented: map[key]Object{}, versions: map[string]bool{}, streams: map[*stream]struct{}{}}
}

// Before returns a Server whose lies the clients of a proxy are told. It is to be called before they connect.
func Before(proxy *localcluster.APIProxy) *Server {
	s := New()
	proxy.Hook(s.Decide)
	proxy.HookWatches(s.Watch)
	return s
}

// Lie adds a lie to what is told from now on. Watches that are open are not told anew what they were told.
func (s *Server) Lie(lie Lie) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lies = append(s.lies, lie)
}

// Attack makes requests be answered as it says from now on; nil attacks no more. Watches that are open stay.
func (s *Server) Attack(attack Attack) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attack = attack
}

// show lets all lies change an object, and reports whether it is shown.
func (s *Server) show(resource string, o Object) bool {
	k := keyOf(resource, o)
	if k.name == "" {
		return true // a bookmark, or no object of the API server's
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

// Invent shows an object that the API server does not have, in place of one that it has under that name. An object that was invented
// before is replaced. Without a resource version, or with that of the one before, it gets one.
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

// Change changes an invented object, with a resource version that grows unless change sets another. It reports whether there is one.
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

// Forget ends an invented object, whatever finalizers it has.
func (s *Server) Forget(resource, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o, ok := s.invented[key{resource, namespace, name}]; ok {
		s.end(key{resource, namespace, name}, ObjectOf(o))
	}
}

// Invented returns an invented object with what clients have written to it. It is false when there is none any more.
func (s *Server) Invented(resource, namespace, name string) (Object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.invented[key{resource, namespace, name}]
	if !ok {
		return nil, false
	}
	return ObjectOf(o), true
}

// keep makes o what is told of an invented object. The caller holds the lock.
func (s *Server) keep(k key, event string, o Object) {
	s.invented[k] = o
	s.tell(k, event, o)
}

// end tells that an invented object was deleted. The caller holds the lock.
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
