package sim

import (
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// hidden contains the objects on which the account of the program under test has no role.
type hidden struct {
	// shown is Options.ShowHiddenReferences.
	shown bool

	mu   sync.RWMutex
	refs map[types.ManagedObjectReference]bool
}

// Hide removes the role of that account on these objects, but not on objects below them, so that the account cannot see them. Only reads of properties obey
// this. Waits for updates, the search index and changes do not.
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

// Show reverses Hide for all objects.
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

// of reports whether some objects are hidden from the account of this call.
func (h *hidden) of(ctx *simulator.Context, a *access) bool {
	return ctx.Session.UserName == a.username && h.any()
}

// references are properties that vCenter leaves unset if the account cannot read the referenced object, as the API reference states.
var references = []string{"config.distributedVirtualSwitch"}

// filter removes objects and properties that an account cannot read. If the request names an object, its properties are in missingSet. If a traversal finds
// it, it is omitted.
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
