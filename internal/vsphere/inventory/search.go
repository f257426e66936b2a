package inventory

import (
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Outside is a VM outside of the root folder, as a read showed it.
type Outside struct {
	Seen
	// Path is its inventory path, empty if that cannot be read.
	Path string
}

// Search is what a search by instance UUID found of a VM that does not exist by its reference.
type Search struct {
	// UUIDs are those that were looked for, in lower case.
	UUIDs []string
	// Found are the VMs outside of the root folder that have one of them. Those below it are in the index by themselves.
	Found []Outside
}

// SearchFor returns the instance UUIDs by which a VM has to be looked for before it is taken for gone: claimed are those that groups have recorded.
// A VM whose destruction we submitted is not looked for.
func (x *Index) SearchFor(ref vsphere.Ref, claimed ...string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var uuids []string
	if e := x.vms[ref]; e != nil {
		if e.leaving {
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

// ConfirmGone records that a VM does not exist by its reference, as a read that began at began showed, and what was found of it.
func (x *Index) ConfirmGone(began Moment, ref vsphere.Ref, search Search) {
	touched := groups{}
	x.mu.Lock()
	again := x.vms[ref] != nil && x.vms[ref].state == Gone
	x.confirmVM(began, ref, Gone, nil, touched)
	e := x.vms[ref]
	e.search = &search
	if again { // whoever waits for this search is told, and waits anew if it has to
		x.touch(e, touched)
		delete(x.waiting, ref)
	}
	x.mu.Unlock()
	x.notify(touched, false)
}

// gone sorts in a known VM that does not exist by its reference.
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

// mayBe reports whether a VM that was found may be the one of a group that had an instance UUID; none was recorded if it is empty. Of a VM whose
// configuration is not shown, nobody knows whose it is.
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
