package sim

import (
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// hidden are the objects on which the program's account has no role.
type hidden struct {
	// shown is Options.ShowHiddenReferences.
	shown bool

	mu   sync.RWMutex
	refs map[types.ManagedObjectReference]bool
}

// Hide takes the account of the program under test its role on these objects, and on nothing below them: it does not see them any more. Only reads of
// properties know of it; a wait for updates, the search index and changes do not.
func (s *Simulator) Hide(refs ...types.ManagedObjectReference) {
	h := &s.rules.hidden
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refs == nil {
		h.refs = map[types.ManagedObjectReference]bool{}
	}
	for _, ref := range refs {
		h.refs[ref] = true
	}
}

// Show undoes Hide for all objects.
func (s *Simulator) Show() {
	h := &s.rules.hidden
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.refs)
}

func (h *hidden) any() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.refs) > 0
}

// of reports whether the account of this call does not see all.
func (h *hidden) of(ctx *simulator.Context, a *access) bool {
	return ctx.Session.UserName == a.username && h.any()
}

// references are properties that vCenter leaves unset if the account may not read the object that they name, as the API reference says.
var references = []string{"config.distributedVirtualSwitch"}

// filter takes out what an account may not read. An object that the request names has its properties in missingSet; one that a traversal finds is left out.
func (h *hidden) filter(specs []types.PropertyFilterSpec, objects []types.ObjectContent) []types.ObjectContent {
	h.mu.RLock()
	defer h.mu.RUnlock()
	named := map[types.ManagedObjectReference]bool{}
	for _, spec := range specs {
		for _, o := range spec.ObjectSet {
			named[o.Obj] = true
		}
	}
	var out []types.ObjectContent
	for _, o := range objects {
		switch {
		case !h.refs[o.Obj]:
			o.PropSet = slices.DeleteFunc(o.PropSet, func(p types.DynamicProperty) bool {
				ref, ok := p.Val.(types.ManagedObjectReference)
				return ok && !h.shown && h.refs[ref] && slices.Contains(references, p.Name)
			})
			out = append(out, o)
		case named[o.Obj]:
			denied := types.ObjectContent{Obj: o.Obj}
			for _, p := range o.PropSet {
				denied.MissingSet = append(denied.MissingSet, types.MissingProperty{Path: p.Name, Fault: types.LocalizedMethodFault{
					Fault: &types.NoPermission{Object: &o.Obj, PrivilegeId: "System.Read"},
				}})
			}
			out = append(out, denied)
		}
	}
	return out
}
