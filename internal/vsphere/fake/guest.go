package fake

import (
	"maps"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// inherit gives a clone the guestinfo keys of its template, under those of its request; an empty value removes a key.
func (s *Server) inherit(vm, template vsphere.Ref, request map[string]string) {
	keys := maps.Clone(s.extra[template])
	if keys == nil {
		keys = map[string]string{}
	}
	maps.Copy(keys, request)
	maps.DeleteFunc(keys, func(_, value string) bool { return value == "" })
	s.extra[vm] = keys
}

// SetTemplateInfo sets the guestinfo keys that a template carries.
func (h Hands) SetTemplateInfo(name string, keys map[string]string) {
	template, err := h.s.Template(name)
	if err != nil {
		panic("fake: " + err.Error())
	}
	h.do(func() { h.s.extra[template.Ref] = maps.Clone(keys) })
}

// GuestInfo are the guestinfo keys of a VM, for assertions.
func (s *Server) GuestInfo(name string) map[string]string {
	s.mu.Lock()
	defer s.unlock()
	return maps.Clone(s.extra[s.must(name).Ref])
}
