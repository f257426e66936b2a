package govmomi

import (
	"cmp"
	"context"
	"strings"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/inventoryname"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
)

// pageSize is the maximum number of objects in one answer. vCenter can send smaller and more pages.
const pageSize = 1000

// object holds the properties that were read of one managed object.
type object struct {
	ref    vsphere.Ref
	values map[string]any
	// denied are properties that vCenter refused to show, with the reason.
	denied map[string]error
}

func newObject(c types.ObjectContent) object {
	o := object{ref: fromRef(c.Obj), values: make(map[string]any, len(c.PropSet))}
	for _, p := range c.PropSet {
		o.values[p.Name] = p.Val
	}
	for _, m := range c.MissingSet {
		if o.denied == nil {
			o.denied = map[string]error{}
		}
		o.denied[m.Path] = taskError{&m.Fault}
	}
	return o
}

func (o object) has(name string) bool { _, ok := o.values[name]; return ok }

func (o object) text(name string) string {
	switch v := o.values[name].(type) {
	case string:
		return v
	case types.VirtualMachinePowerState:
		return string(v)
	case types.VirtualMachineConnectionState:
		return string(v)
	case types.ManagedEntityStatus:
		return string(v)
	case types.TaskInfoState:
		return string(v)
	}
	return ""
}

func (o object) number(name string) int64 {
	switch v := o.values[name].(type) {
	case int32:
		return int64(v)
	case int64:
		return v
	}
	return 0
}

func (o object) yes(name string) bool { v, _ := o.values[name].(bool); return v }

func (o object) refOf(name string) vsphere.Ref {
	if v, ok := o.values[name].(types.ManagedObjectReference); ok {
		return fromRef(v)
	}
	return vsphere.Ref{}
}

func (o object) refsOf(name string) []vsphere.Ref {
	v, ok := o.values[name].(types.ArrayOfManagedObjectReference)
	if !ok {
		return nil
	}
	out := make([]vsphere.Ref, len(v.ManagedObjectReference))
	for i, r := range v.ManagedObjectReference {
		out[i] = fromRef(r)
	}
	return out
}

// retrieve reads all pages of properties. Missing objects are an error unless their spec asks to report them. The server sends each
// page only once. If a page is lost, retrieve reads everything again, because a listing with a gap is worse than none.
func retrieve(ctx context.Context, c *vim25.Client, specs ...types.PropertyFilterSpec) ([]object, error) {
	var (
		out    []object
		failed error // of the first page, which the session has repeated already
	)
	err := session.Repeat(ctx, func() (err error) {
		ctx := session.OneListing(ctx)
		var resp *types.RetrievePropertiesExResponse
		resp, failed = methods.RetrievePropertiesEx(ctx, c, &types.RetrievePropertiesEx{
			This: c.ServiceContent.PropertyCollector, SpecSet: specs, Options: types.RetrieveOptions{MaxObjects: pageSize},
		})
		if failed != nil {
			return nil //nolint:nilerr // it is returned below, and not repeated here
		}
		out, err = pages(ctx, c, resp.Returnval)
		return err
	})
	if err = cmp.Or(failed, err); err != nil {
		return nil, err
	}
	return out, nil
}

// pages reads the pages after the first one.
func pages(ctx context.Context, c *vim25.Client, result *types.RetrieveResult) ([]object, error) {
	var out []object
	for result != nil {
		for _, content := range result.Objects {
			out = append(out, newObject(content))
		}
		if result.Token == "" {
			break
		}
		next, err := methods.ContinueRetrievePropertiesEx(ctx, c,
			&types.ContinueRetrievePropertiesEx{This: c.ServiceContent.PropertyCollector, Token: result.Token})
		if err != nil {
			return nil, onRoot("read the next page of a listing", c, err)
		}
		result = &next.Returnval
	}
	return out, nil
}

// existing reads properties of the given objects. Objects that do not exist are missing from the result. A missing object is a hint,
// not a proof.
func existing(ctx context.Context, c *vim25.Client, refs []vsphere.Ref, props ...types.PropertySpec) ([]object, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	return retrieve(ctx, c, types.PropertyFilterSpec{
		ObjectSet: objectSet(refs), PropSet: props, ReportMissingObjectsInResults: types.NewBool(true),
	})
}

// exact reads one object. Its not-found error is vCenter's confirmation that the object does not exist (notFound).
func exact(ctx context.Context, c *vim25.Client, ref vsphere.Ref, paths ...string) (object, error) {
	objects, err := retrieve(ctx, c, types.PropertyFilterSpec{
		ObjectSet: objectSet([]vsphere.Ref{ref}),
		PropSet:   []types.PropertySpec{{Type: ref.Type, PathSet: paths}},
	})
	if err != nil {
		return object{}, err
	}
	if len(objects) != 1 {
		return object{}, errUnreadable
	}
	for _, denied := range objects[0].denied {
		if has[*types.NotAuthenticated](denied) {
			return object{}, denied // the answer says nothing about the account's permissions
		}
	}
	return objects[0], nil
}

func objectSet(refs []vsphere.Ref) []types.ObjectSpec {
	out := make([]types.ObjectSpec, len(refs))
	for i, ref := range refs {
		out[i].Obj = toRef(ref)
	}
	return out
}

// createView creates a view of all objects below a container.
func createView(ctx context.Context, c *vim25.Client, container vsphere.Ref, kinds ...string) (vsphere.Ref, error) {
	resp, err := methods.CreateContainerView(ctx, c, &types.CreateContainerView{
		This: *c.ServiceContent.ViewManager, Container: toRef(container), Type: kinds, Recursive: true,
	})
	if err != nil {
		return vsphere.Ref{}, err
	}
	return fromRef(resp.Returnval), nil
}

func destroyView(ctx context.Context, c *vim25.Client, view vsphere.Ref) {
	// A view that cannot be destroyed ends with the session.
	_, _ = methods.DestroyView(ctx, c, &types.DestroyView{This: toRef(view)})
}

// viewSpec selects the content of a view.
func viewSpec(view vsphere.Ref, props []types.PropertySpec) types.PropertyFilterSpec {
	return types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{
			Obj: toRef(view), Skip: types.NewBool(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: view.Type, Path: "view"}},
		}},
		PropSet: props,
	}
}

// contained reads all objects below a container that match a property spec.
func contained(ctx context.Context, c *vim25.Client, container vsphere.Ref, props []types.PropertySpec) ([]object, error) {
	kinds := make([]string, len(props))
	for i := range props {
		kinds[i] = props[i].Type
	}
	view, err := createView(ctx, c, container, kinds...)
	if err != nil {
		return nil, err
	}
	defer destroyView(ctx, c, view)
	return retrieve(ctx, c, viewSpec(view, props))
}

// tree holds names and parents, and computes inventory paths.
type tree struct {
	root  vsphere.Ref
	nodes map[vsphere.Ref]node
}

type node struct {
	parent vsphere.Ref
	name   string
}

func newTree(root vsphere.Ref) *tree { return &tree{root: root, nodes: map[vsphere.Ref]node{}} }

func (t *tree) add(ref, parent vsphere.Ref, name string) {
	t.nodes[ref] = node{parent, shortened(name)}
}

// path returns the path of an object below the tree's root, for example /vm/a. If the account cannot see a folder above the object, it
// returns /…/a, which matches no object.
func (t *tree) path(ref vsphere.Ref) string {
	var parts []string
	for ref != t.root {
		n, ok := t.nodes[ref]
		if !ok || len(parts) > deepestFolder {
			parts = append([]string{inventoryname.Unseen}, parts...)
			break
		}
		parts = append([]string{n.name}, parts...)
		ref = n.parent
	}
	return "/" + strings.Join(parts, "/")
}

// unseen returns the first object above another one that the account cannot see, or the zero Ref.
func (t *tree) unseen(ref vsphere.Ref) vsphere.Ref {
	for range deepestFolder {
		n, ok := t.nodes[ref]
		switch {
		case ref == t.root:
			return vsphere.Ref{}
		case !ok:
			return ref
		}
		ref = n.parent
	}
	return vsphere.Ref{}
}
