package govmomi

import (
	"context"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// reads makes the operator read a VM. Sometimes a user changes it before and after.
func (h *history) reads() {
	vm := h.locked(h.person.vm)
	if vm == nil {
		return
	}
	strikes := func(row string, limit time.Duration) {
		if h.dice.percent(row, 50) {
			sleep(context.Background(), h.dice.within(row+" late", limit))
			h.say("a user %s", h.person.strikes())
		}
	}
	strikes("change before a read", 0)
	sleep(context.Background(), h.dice.within("read", 3*h.calls.slow))
	h.say("the operator reads %s again", vm)
	h.server.readAgain(vm.ref)
	strikes("change after a read", 3*h.calls.slow)
}

// breaks breaks the stream, and waits until the operator opens another one.
func (h *history) breaks() {
	h.say("the stream breaks")
	began := h.m.nextStream()
	h.m.breakCalls()
	select {
	case <-began:
	case <-time.After(2 * time.Second):
	}
}

// races breaks the stream. While the next one begins, the operator reads a VM and a user changes it.
func (h *history) races() {
	h.breaks()
	if vm := h.locked(h.person.vm); vm != nil {
		h.say("the operator reads %s again", vm)
		h.server.readAgain(vm.ref)
	}
	sleep(context.Background(), h.dice.within("change in a race", 5*h.calls.slow))
	h.say("a user %s", h.person.strikes())
}

// vanishes makes the operator read a VM that is destroyed during the read. Sometimes the VM is new, and sometimes the
// operator is looking up another one.
func (h *history) vanishes() {
	var vm *thing
	if h.dice.percent("made before", 50) {
		h.m.do(func() { h.say("a user %s", h.person.clone()) })
		h.m.do(func() { vm = h.person.newest() })
	} else {
		vm = h.locked(h.person.vm)
	}
	if vm == nil {
		return
	}
	if other := h.locked(h.person.vm); other != vm && other != nil && h.dice.percent("another before", 60) {
		h.say("a user destroys %s", other)
		h.m.do(func() { h.m.destroy(other.ref) })
		sleep(context.Background(), h.dice.within("after another", 3*h.calls.slow))
	}
	if h.dice.percent("stream before", 20) {
		h.breaks()
	}
	h.say("the operator reads %s again", vm)
	h.server.readAgain(vm.ref)
	sleep(context.Background(), h.dice.within("until it vanishes", 6*h.calls.slow))
	h.say("a user destroys %s", vm)
	h.m.do(func() { h.m.destroy(vm.ref) })
}

// unmakes makes the operator create a folder that a user destroys, often before the operator has the response, and
// sometimes while a stream begins.
func (h *history) unmakes() {
	if h.dice.percent("stream before a folder", 40) {
		h.breaks()
		sleep(context.Background(), h.dice.within("folder in a new stream", 10*h.calls.slow))
	}
	s, path, answered := h.server, h.groups.groups[h.dice.below("which", 3)].path, make(chan struct{})
	path.Leaf = h.person.name()
	go func() {
		defer close(answered)
		f, err := s.EnsureFolder(unfenced(), path)
		h.say("folder %s: %s, %v", path.Leaf, f.Ref.Value, err)
	}()
	f := h.m.awaits(answered, func() *thing { return h.m.named(path.Leaf) })
	if f == nil {
		return
	}
	sleep(context.Background(), h.dice.within("until it is unmade", 4*h.calls.slow))
	h.say("a user destroys folder %s", f)
	h.m.do(func() { h.m.destroy(f.ref) })
	h.checkPrompt()
}

// unfenced is the context of calls of an operator that can act.
func unfenced() context.Context {
	return vsphere.WithFence(context.Background(), func() error { return nil })
}
