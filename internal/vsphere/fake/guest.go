package fake

import (
	"cmp"
	"maps"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// inherit gives a clone the guestinfo keys of its template, overridden by those of its request. An empty value removes
// a key.
func (s *Server) inherit(vm, template vsphere.Ref, request map[string]string) {
	keys := maps.Clone(s.extra[template])
	if keys == nil {
		keys = map[string]string{}
	}
	maps.Copy(keys, request)
	maps.DeleteFunc(keys, func(_, value string) bool { return value == "" })
	s.extra[vm] = keys
}

// SetTemplateInfo sets the guestinfo keys of a template.
func (h Hands) SetTemplateInfo(name string, keys map[string]string) {
	template, err := h.s.Template(name)
	if err != nil {
		panic("fake: " + err.Error())
	}
	h.do(func() { h.s.extra[template.Ref] = maps.Clone(keys) })
}

// WriteGuestInfo makes the guest of a running VM write a value. The value is lost at power-off.
func (h Hands) WriteGuestInfo(name, key, value string) {
	h.do(func() {
		vm := h.s.must(name)
		if vm.Power != vsphere.PoweredOn {
			panic("fake: " + name + " is not on, so its guest writes nothing")
		}
		if h.s.written[vm.Ref] == nil {
			h.s.written[vm.Ref] = map[string]string{}
		}
		h.s.written[vm.Ref][key] = value
		h.s.touched(vm)
	})
}

// SetGuestInfoRead sets whether the values that guests wrote are known. They are from the start.
func (s *Server) SetGuestInfoRead(read bool) {
	s.change(func() { s.guestsUnread = !read })
}

// observeGuests adds the values that the guests of a group wrote.
func (s *Server) observeGuests(q vsphere.Query, o *vsphere.Observation) {
	key := q.GuestInfo.Key
	if vsphere.CheckGuestInfoKey(key) != nil {
		return
	}
	for i := range o.VMs {
		switch vm := &o.VMs[i]; {
		case vm.Power == vsphere.PoweredOff:
			vm.GuestInfoKnown = true
		case s.guestsUnread || vm.Power != vsphere.PoweredOn || vm.Stamp == nil || vm.Stamp.GroupID != q.ID || vm.Tombstone:
		default:
			vm.GuestInfo, vm.GuestInfoKnown = cmp.Or(s.written[vm.Ref][key], s.extra[vm.Ref][key]), true
		}
	}
}

// Note returns the note of a VM, for assertions.
func (s *Server) Note(name string) string {
	s.mu.Lock()
	defer s.unlock()
	return s.notes[s.must(name).Ref]
}

// GuestInfo returns the readable part of a VM's guestinfo keys, for assertions.
func (s *Server) GuestInfo(name string) map[string]string {
	s.mu.Lock()
	defer s.unlock()
	info := maps.Clone(s.extra[s.must(name).Ref])
	for key, value := range info {
		info[key] = value[:min(len(value), vsphere.LongestGuestValue)]
	}
	return info
}
