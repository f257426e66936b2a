package inventory

import (
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Outside is a VM outside of the root folder, as a read returned it.
type Outside struct {
	Seen
	// Path is its inventory path, or "" if the path is unreadable.
	Path string
}

// Search is the result of a search by instance UUID for a VM whose reference does not exist.
type Search struct {
	// UUIDs are the searched UUIDs, in lower case.
	UUIDs []string
	// Found are the VMs outside of the root folder with one of the UUIDs. Those below it are in the index already.
	Found []Outside
}

// SearchFor returns the instance UUIDs to search for before a VM gets verdict Gone. claimed are those that groups have recorded. For a VM whose destruction
// this process submitted, it returns none.
func (x *Index) SearchFor(ref vsphere.Ref, claimed ...string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var uuids []string
	if e := x.vms[ref]; e != nil {
		if e.leaving || e.destroyed {
			return nil
		}
		claimed = append(slices.Clone(claimed), e.vm.InstanceUUID)
	}
	for _, uuid := range claimed {
		if uuid = strings.ToLower(uuid); uuid != "" {
			uuids = append(uuids, uuid)
		}
	}
	slices.Sort(uuids)
	return slices.Compact(uuids)
}

// ConfirmGone records that a VM's reference does not exist, according to a read that began at began, and the result of its search.
func (x *Index) ConfirmGone(began Moment, ref vsphere.Ref, search Search) {
	touched := groups{}
	x.mu.Lock()
	again := x.vms[ref] != nil && x.vms[ref].state == Gone
	x.confirmVM(began, ref, Gone, nil, touched)
	e := x.vms[ref]
	e.search = &search
	if again { // groups that wait for this search are notified, and wait again if they must
		x.touch(e, touched)
		delete(x.waiting, ref)
	}
	x.unlock()
	x.notify(touched, false)
}

// gone classifies a known VM whose reference does not exist.
func (x *Index) gone(e *vmEntry, q vsphere.Query, g *Group) {
	ref, uuid := e.vm.Ref, strings.ToLower(q.UUIDs[e.vm.Ref])
	switch {
	case e.destroyed, e.search == nil && uuid == "":
		g.Gone = append(g.Gone, ref)
	case e.search == nil, uuid != "" && !slices.Contains(e.search.UUIDs, uuid):
		g.Ask = append(g.Ask, ref)
	default:
		for i := range e.search.Found {
			if o := &e.search.Found[i]; o.mayBe(q.ID, uuid) {
				g.elsewhere(ref, vsphere.Found{Ref: o.Ref, Path: o.Path})
				return
			}
		}
		g.Gone, g.Searched = append(g.Gone, ref), append(g.Searched, ref)
	}
}

// mayBe reports whether a found VM can be the group's VM with an instance UUID. An empty uuid matches any. If the VM's configuration is not shown,
// its owner is unknown, so it can be.
func (o *Outside) mayBe(id vsphere.GroupID, uuid string) bool {
	if uuid != "" && !strings.EqualFold(o.InstanceUUID, uuid) {
		return false
	}
	return o.Unread || o.Stamp != nil && o.Stamp.SameGroup(id)
}

// elsewhere adds a known VM that is outside of the root folder.
func (g *Group) elsewhere(ref vsphere.Ref, at vsphere.Found) {
	g.Elsewhere = append(g.Elsewhere, ref)
	if g.Found == nil {
		g.Found = map[vsphere.Ref]vsphere.Found{}
	}
	g.Found[ref] = at
}
