package govmomi

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing/synctest"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

// compare returns the differences of the index from the model, and from an index filled by one listing.
func (h *history) compare() (wrong []string) {
	x := h.server.index
	h.m.mu.Lock()
	for _, ref := range x.Vanished() {
		if h.m.inside(ref) {
			wrong = append(wrong, ref.Value+" has vanished, and is there")
		}
	}
	h.m.mu.Unlock()
	x.AcceptEmpty()
	sleep(context.Background(), time.Second) // until groups have seen it
	for range 60 {
		if complete, _ := h.server.complete(); complete {
			break
		}
		sleep(context.Background(), time.Second) // six consecutive losses can break a connection at any time
	}
	if complete, why := h.server.complete(); !complete {
		return append(wrong, "not complete: "+why)
	}
	for _, ref := range x.Suspects() {
		wrong = append(wrong, ref.Value+" is without a verdict")
	}
	queries := h.queries()
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	vms, folders := h.truth()
	fresh := inventory.New(inventory.Config{Installation: modelInstallation, Now: time.Now})
	root, _ := x.Folder(h.m.root)
	fresh.SetRoot(root)
	fresh.ApplyListing(fresh.Begin(), vms, folders)
	wrong = slices.Concat(wrong, h.compareObjects(x, fresh, vms, folders), h.compareGroups(x, fresh, queries))
	h.settle(vms)
	return wrong
}

// truth is the content of a listing.
func (h *history) truth() (vms []inventory.Seen, folders []vsphere.Folder) {
	for _, t := range h.m.below() {
		if t.isFolder() {
			folders = append(folders, vsphere.Folder{Ref: t.ref, Name: t.name, Parent: t.parent})
			continue
		}
		want := t.seen()
		if got, state := h.server.index.VM(t.ref); t.dark && state == inventory.Present {
			want = h.asKnown(want, got)
		}
		vms = append(vms, want)
	}
	return vms, folders
}

func (h *history) compareObjects(x, fresh *inventory.Index, vms []inventory.Seen, folders []vsphere.Folder) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for _, f := range folders {
		want, _ := fresh.Folder(f.Ref)
		if got, state := x.FolderState(f.Ref); got != want {
			say("folder %s is %+v (%d), and %+v in truth", f.Ref.Value, got, state, want)
		}
		if child, _ := x.Child(f.Parent, f.Name); child.Ref != f.Ref {
			say("the folder %s in %s is %q, and %s in truth", f.Name, f.Parent.Value, child.Ref.Value, f.Ref.Value)
		}
	}
	for i := range vms {
		want := vms[i].VM
		if got, state := x.VM(want.Ref); state != inventory.Present || !reflect.DeepEqual(got, want) {
			say("%s is %+v (%d), and %+v in truth", want.Ref.Value, show(got), state, show(want))
		}
	}
	return wrong
}

// queries are the groups' requests, without recorded objects.
func (h *history) queries() (all []vsphere.Query) {
	for _, g := range h.groups.groups {
		g.mu.Lock()
		q := g.query()
		g.mu.Unlock()
		q.Known = nil
		all = append(all, q)
	}
	return all
}

func (h *history) compareGroups(x, fresh *inventory.Index, queries []vsphere.Query) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if got, want := x.Stamped(), fresh.Stamped(); got != want {
		say("%d VMs are counted, and %d in truth", got, want)
	}
	folders, _ := x.EmptyGroupFolders()
	for _, empty := range folders { // which of them belong to this installation depends on earlier content
		holds := func(t *thing) bool { return t.parent == empty.Ref }
		if is, _ := fresh.Folder(empty.Ref); is.Ref != empty.Ref || slices.ContainsFunc(h.m.below(), holds) {
			say("folder %v counts as empty, and is not in truth", empty)
		}
	}
	for _, q := range queries {
		got, want := x.Group(q), fresh.Group(q)
		want.Ask, got.Ask = nil, nil
		if got.Folder.Path == "" { // listings contain only objects below the root
			want.Folder, got.FolderGone, got.FolderElsewhere = got.Folder, false, false
		}
		if !reflect.DeepEqual(got, want) {
			say("group %s is %+v, and %+v in truth", q.ID.Group, got, want)
		}
	}
	return wrong
}

// asKnown is a VM that vCenter shows without configuration, combined with the known configuration, if any.
func (h *history) asKnown(want inventory.Seen, got vsphere.VM) inventory.Seen {
	if got.ChangeVersion == "" {
		return want
	}
	got.Name, got.Folder, got.Power, got.BootTime, got.Connection, got.GuestIP, got.HeartbeatGreen, got.ToolsRunning, got.Disabled =
		want.Name, want.Folder, want.Power, want.BootTime, want.Connection, want.GuestIP, want.HeartbeatGreen, want.ToolsRunning, want.Disabled
	got.Addresses = want.Addresses
	return inventory.Seen{VM: got}
}

func (h *history) settle(vms []inventory.Seen) {
	h.present = map[vsphere.Ref]time.Time{}
	for i := range vms {
		h.present[vms[i].Ref] = time.Now()
	}
	for i := range vms {
		if stamp := vms[i].Stamp; stamp != nil && stamp.Installation == modelInstallation {
			h.settled[vms[i].Ref] = time.Now()
		}
	}
}

func show(vm vsphere.VM) string {
	text := fmt.Sprintf("%+v", vm)
	if vm.Stamp != nil {
		text += fmt.Sprintf(" stamp %+v", *vm.Stamp)
	}
	return text
}

// checkPrompt compares objects that existed at the last comparison and have not moved since: the
// stream need not report transient objects.
func (h *history) checkPrompt() {
	if !h.prompt {
		return
	}
	sleep(context.Background(), promptWithin)
	synctest.Wait()
	if complete, _ := h.server.complete(); !complete {
		return
	}
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	for ref := range h.m.left { // a reference is never given twice
		_, state := h.server.index.VM(ref)
		if ref.Type == vsphere.TypeFolder {
			_, state = h.server.index.FolderState(ref)
		}
		if h.m.things[ref] == nil && state == inventory.Present {
			h.fail("soon", []string{ref.Value + " was removed, as the stream has reported, and is present"})
		}
	}
	for ref, at := range h.present {
		got, state := h.server.index.VM(ref)
		switch t := h.m.things[ref]; {
		case t == nil && state == inventory.Present:
			h.fail("soon", []string{ref.Value + " was destroyed, and is present"})
		case t == nil || t.moved.After(at) || t.darkened.After(at) || t.dark:
		case state != inventory.Present || !reflect.DeepEqual(got, t.seen().VM):
			h.fail("soon", []string{fmt.Sprintf("%s is %s (%d), and %s in truth", ref.Value, show(got), state, show(t.seen().VM))})
		}
	}
}
