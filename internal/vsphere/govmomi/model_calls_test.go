package govmomi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
)

// modelCalls answers the calls of one session. A call takes time before and after the model acts.
// Some requests and responses are lost.
type modelCalls struct {
	m    *model
	dice *dice
	// lossy is the percentage of lost calls, slow the maximum one-way latency of a call, page the
	// maximum number of objects in a response.
	lossy, page int
	slow        time.Duration
	// compares: collectors report only differences from their earlier reports; otherwise they report every write.
	compares bool
	// slowReads: reads are the slowest calls, so that the stream is faster.
	slowReads bool
	// slowFolders: folder creation is slow, so that the stream shows the folder before the response.
	slowFolders bool
	// brief: collectors report objects that appeared and disappeared between two responses as absent.
	brief bool

	session int
	last    int
	views   map[string]vsphere.Ref
	// listings are unfinished listings, by the token of their next page.
	listings   map[string]*listing
	collectors map[string]*collector
}

type listing struct {
	refs  []vsphere.Ref
	specs []types.PropertySpec
}

type collector struct {
	view  vsphere.Ref
	specs []types.PropertySpec
	// told is the reported state of each object; at is the change of the model at which each object was last reported.
	told map[vsphere.Ref]map[string]any
	at   map[vsphere.Ref]int
	// began is the change of the model at which it began to watch. forgot are reported objects that
	// appeared and disappeared between two of its responses.
	began  int
	forgot map[vsphere.Ref]bool
	// more: the last response was one page of several. The next one follows at once, even without news.
	more bool
}

var errSessionOver = &vsphere.Error{Kind: vsphere.KindTransient, Op: "call", Err: errors.New("the session is over")}

func noSuchObject(ref types.ManagedObjectReference) error {
	return soap.WrapVimFault(&types.ManagedObjectNotFound{Obj: ref})
}

// RoundTrip retries idempotent calls, as the session does.
func (c *modelCalls) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	method := strings.TrimSuffix(reflect.TypeOf(req).Elem().Name(), "Body")
	call := func() error { return c.call(ctx, method, req, res) }
	switch method {
	case "RetrievePropertiesEx", "CreatePropertyCollector", "CreateContainerView", "FindChild", "FindAllByUuid":
		return session.Repeat(ctx, call)
	}
	return call()
}

func (c *modelCalls) call(ctx context.Context, method string, req, res soap.HasFault) error {
	slow := c.slow
	switch {
	case method == "CreateFilter":
		slow *= 5 // vCenter evaluates many objects
		c.m.opens()
	case method == "RetrievePropertiesEx" && c.slowReads:
		slow *= 4
	case method == "CreateFolder" && c.slowFolders:
		slow *= 8
	}
	if !sleep(ctx, c.dice.within("to "+method, slow)) {
		return ctx.Err()
	}
	lost := c.dice.percent("loss of "+method, c.lossy)
	if lost && c.dice.percent("way", 50) {
		return io.ErrUnexpectedEOF
	}
	if wait, ok := req.(*methods.WaitForUpdatesExBody); ok {
		if err := c.awaitNews(ctx, wait.Req); err != nil {
			return err
		}
	}
	err := c.act(req, res)
	if !sleep(ctx, c.dice.within("from "+method, slow)) {
		return ctx.Err()
	}
	if lost {
		return io.ErrUnexpectedEOF
	}
	if answer, ok := res.(*methods.WaitForUpdatesExBody); ok && err == nil {
		c.m.hasTold(answer.Res.Returnval)
	}
	return err
}

// awaitNews waits until a collector has news, up to the maximum wait of the call.
func (c *modelCalls) awaitNews(ctx context.Context, req *types.WaitForUpdatesEx) error {
	over := time.NewTimer(time.Duration(*req.Options.MaxWaitSeconds) * time.Second)
	defer over.Stop()
	for {
		c.m.mu.Lock()
		moving, ended, cut, alive := c.m.moving, c.m.ended, c.m.cut, c.session == c.m.session
		col := c.collectors[req.This.Value]
		news := col != nil && (req.Version == "" || col.more || len(c.news(col, 1)) > 0)
		c.m.mu.Unlock()
		if news || !alive || col == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over.C:
			return nil
		case <-cut:
			return io.ErrUnexpectedEOF
		case <-ended:
		case <-moving:
		}
	}
}

// act executes a call atomically.
func (c *modelCalls) act(req, res soap.HasFault) error {
	m := c.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.session != m.session {
		return errSessionOver
	}
	switch req := req.(type) {
	case *methods.CreateContainerViewBody:
		ref := types.ManagedObjectReference{Type: "ContainerView", Value: c.id("view")}
		c.views[ref.Value] = fromRef(req.Req.Container)
		res.(*methods.CreateContainerViewBody).Res = &types.CreateContainerViewResponse{Returnval: ref}
	case *methods.DestroyViewBody:
		delete(c.views, req.Req.This.Value)
		res.(*methods.DestroyViewBody).Res = &types.DestroyViewResponse{}
	case *methods.CreatePropertyCollectorBody:
		ref := types.ManagedObjectReference{Type: "PropertyCollector", Value: c.id("collector")}
		c.collectors[ref.Value] = &collector{told: map[vsphere.Ref]map[string]any{}, at: map[vsphere.Ref]int{}, forgot: map[vsphere.Ref]bool{}}
		res.(*methods.CreatePropertyCollectorBody).Res = &types.CreatePropertyCollectorResponse{Returnval: ref}
	case *methods.DestroyPropertyCollectorBody:
		delete(c.collectors, req.Req.This.Value)
		res.(*methods.DestroyPropertyCollectorBody).Res = &types.DestroyPropertyCollectorResponse{}
	case *methods.CreateFilterBody:
		col := c.collectors[req.Req.This.Value]
		col.view, col.specs, col.began = fromRef(req.Req.Spec.ObjectSet[0].Obj), req.Req.Spec.PropSet, m.change
		res.(*methods.CreateFilterBody).Res = &types.CreateFilterResponse{}
	case *methods.WaitForUpdatesExBody:
		return c.update(req.Req, res.(*methods.WaitForUpdatesExBody))
	case *methods.RetrievePropertiesExBody:
		result, err := c.retrieve(req.Req)
		if err != nil {
			return err
		}
		res.(*methods.RetrievePropertiesExBody).Res = &types.RetrievePropertiesExResponse{Returnval: result}
	case *methods.ContinueRetrievePropertiesExBody:
		l := c.listings[req.Req.Token]
		delete(c.listings, req.Req.Token)
		if l == nil {
			return soap.WrapVimFault(&types.InvalidArgument{})
		}
		res.(*methods.ContinueRetrievePropertiesExBody).Res = &types.ContinueRetrievePropertiesExResponse{Returnval: *c.readPage(l)}
	case *methods.CreateFolderBody:
		parent := fromRef(req.Req.This)
		if m.things[parent] == nil {
			return noSuchObject(req.Req.This)
		}
		if taken := m.child(parent, req.Req.Name); taken != nil {
			return soap.WrapVimFault(&types.DuplicateName{Name: req.Req.Name, Object: toRef(taken.ref)})
		}
		made := m.addFolder(parent, req.Req.Name)
		c.moved()
		res.(*methods.CreateFolderBody).Res = &types.CreateFolderResponse{Returnval: toRef(made.ref)}
	case *methods.Destroy_TaskBody:
		if m.things[fromRef(req.Req.This)] == nil {
			return noSuchObject(req.Req.This)
		}
		m.destroy(fromRef(req.Req.This))
		c.moved()
		res.(*methods.Destroy_TaskBody).Res = &types.Destroy_TaskResponse{Returnval: types.ManagedObjectReference{Type: "Task", Value: c.id("task")}}
	case *methods.FindAllByUuidBody:
		res.(*methods.FindAllByUuidBody).Res = m.withUUID(req.Req.Uuid)
	default:
		panic(fmt.Sprintf("the model does not know %T", req))
	}
	return nil
}

// withUUID finds VMs by their instance UUID.
func (m *model) withUUID(uuid string) *types.FindAllByUuidResponse {
	found := new(types.FindAllByUuidResponse)
	for _, t := range m.things {
		if t.ref.Type == vsphere.TypeVirtualMachine && strings.EqualFold(t.uuid, uuid) {
			found.Returnval = append(found.Returnval, toRef(t.ref))
		}
	}
	return found
}

func (c *modelCalls) moved() {
	c.m.change++
	close(c.m.moving)
	c.m.moving = make(chan struct{})
}

func (c *modelCalls) id(kind string) string {
	c.last++
	return fmt.Sprintf("%s-%d-%d", kind, c.session, c.last)
}

// inView are the objects that a view shows now.
func (c *modelCalls) inView(container vsphere.Ref) []*thing {
	if container != c.m.root {
		panic("a view of " + container.Value)
	}
	return c.m.below()
}

func (c *modelCalls) retrieve(req *types.RetrievePropertiesEx) (*types.RetrieveResult, error) {
	spec := req.SpecSet[0]
	l := &listing{specs: spec.PropSet}
	for _, o := range spec.ObjectSet {
		if o.Obj.Type == "TaskManager" { // no clone runs
			none := types.DynamicProperty{Name: "recentTask", Val: types.ArrayOfManagedObjectReference{}}
			return &types.RetrieveResult{Objects: []types.ObjectContent{{Obj: o.Obj, PropSet: []types.DynamicProperty{none}}}}, nil
		}
		if o.Obj.Type == "ContainerView" {
			container, ok := c.views[o.Obj.Value]
			if !ok {
				return nil, noSuchObject(o.Obj)
			}
			for _, t := range c.inView(container) {
				l.refs = append(l.refs, t.ref)
			}
			continue
		}
		if c.m.things[fromRef(o.Obj)] == nil {
			if spec.ReportMissingObjectsInResults != nil {
				continue
			}
			return nil, noSuchObject(o.Obj)
		}
		l.refs = append(l.refs, fromRef(o.Obj))
	}
	return c.readPage(l), nil
}

// readPage reads the next page of a listing in its current state. It omits deleted objects.
func (c *modelCalls) readPage(l *listing) *types.RetrieveResult {
	result := &types.RetrieveResult{}
	n := min(len(l.refs), c.page)
	for _, ref := range l.refs[:n] {
		t := c.m.things[ref]
		if t == nil {
			continue
		}
		content := types.ObjectContent{Obj: toRef(ref)}
		for _, name := range paths(l.specs, ref.Type) {
			if name == "childEntity" {
				content.PropSet = append(content.PropSet, types.DynamicProperty{Name: name, Val: c.children(ref)})
				continue
			}
			v := t.property(name)
			switch {
			case v == nil:
			case c.m.faulty && strings.HasPrefix(name, "config.extraConfig") && c.dice.percent("fault", 2):
				content.MissingSet = append(content.MissingSet, types.MissingProperty{
					Path: name, Fault: types.LocalizedMethodFault{Fault: &types.SystemError{}},
				})
			default:
				content.PropSet = append(content.PropSet, types.DynamicProperty{Name: name, Val: v})
			}
		}
		result.Objects = append(result.Objects, content)
	}
	if l.refs = l.refs[n:]; len(l.refs) > 0 {
		result.Token = c.id("page")
		c.listings[result.Token] = l
	}
	return result
}

func (c *modelCalls) children(ref vsphere.Ref) types.ArrayOfManagedObjectReference {
	var out types.ArrayOfManagedObjectReference
	for _, t := range c.m.things {
		if t.parent == ref {
			out.ManagedObjectReference = append(out.ManagedObjectReference, toRef(t.ref))
		}
	}
	return out
}

func paths(specs []types.PropertySpec, kind string) []string {
	i := slices.IndexFunc(specs, func(s types.PropertySpec) bool { return s.Type == kind })
	return specs[i].PathSet
}

// update returns the next page of a collector's news.
func (c *modelCalls) update(req *types.WaitForUpdatesEx, res *methods.WaitForUpdatesExBody) error {
	col := c.collectors[req.This.Value]
	if col == nil {
		return noSuchObject(req.This)
	}
	res.Res = &types.WaitForUpdatesExResponse{}
	news := c.news(col, c.page+1)
	if len(news) == 0 && req.Version != "" && !col.more {
		return nil
	}
	more := len(news) > c.page
	col.more = more
	news = news[:min(len(news), c.page)]
	for _, u := range news {
		ref := fromRef(u.Obj)
		if u.Kind == types.ObjectUpdateKindLeave {
			delete(col.told, ref)
			col.forgot[ref] = true
			continue
		}
		if col.told[ref] == nil {
			col.told[ref] = map[string]any{}
		}
		for _, change := range u.ChangeSet {
			col.told[ref][change.Name] = change.Val
		}
		col.at[ref] = c.m.change
	}
	res.Res.Returnval = &types.UpdateSet{
		Version: c.id("version"), Truncated: &more, FilterSet: []types.PropertyFilterUpdate{{ObjectSet: c.cut(news)}},
	}
	return nil
}

// cut splits the changes of an object into two updates of one response.
func (c *modelCalls) cut(news []types.ObjectUpdate) []types.ObjectUpdate {
	var out []types.ObjectUpdate
	for _, u := range news {
		if u.Kind == types.ObjectUpdateKindModify && len(u.ChangeSet) > 1 && c.dice.percent("cut", 50) {
			first := u
			first.ChangeSet, u.ChangeSet = u.ChangeSet[:1], u.ChangeSet[1:]
			out = append(out, first)
		}
		out = append(out, u)
	}
	return out
}

// news returns a collector's news, for at most limit objects.
func (c *modelCalls) news(col *collector, limit int) (out []types.ObjectUpdate) {
	shown := map[vsphere.Ref]bool{}
	container, ok := c.views[col.view.Value]
	if !ok {
		return nil
	}
	for _, t := range c.inView(container) {
		shown[t.ref] = true
		told, known := col.told[t.ref]
		u := types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: toRef(t.ref)}
		if !known {
			u.Kind = types.ObjectUpdateKindEnter
		}
		for _, name := range paths(col.specs, t.ref.Type) {
			v := t.property(name)
			written := !c.compares && t.told[name] > col.at[t.ref]
			if known && reflect.DeepEqual(told[name], v) && !written || !known && v == nil {
				continue
			}
			u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: name, Val: v})
		}
		if !known || len(u.ChangeSet) > 0 {
			if out = append(out, u); len(out) == limit {
				return out
			}
		}
	}
	gone := c.leaves(col, shown)
	return append(out, gone[:min(len(gone), limit-len(out))]...)
}

// leaves are a collector's reports of objects that its view does not show any more, or that appeared and disappeared.
func (c *modelCalls) leaves(col *collector, shown map[vsphere.Ref]bool) []types.ObjectUpdate {
	gone := make([]types.ObjectUpdate, 0)
	for ref := range col.told {
		if !shown[ref] {
			gone = append(gone, types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: toRef(ref)})
		}
	}
	for ref, at := range c.m.destroyed {
		if _, known := col.told[ref]; c.brief && at > col.began && !known && !col.forgot[ref] {
			gone = append(gone, types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: toRef(ref)})
		}
	}
	slices.SortFunc(gone, func(a, b types.ObjectUpdate) int { return strings.Compare(a.Obj.Value, b.Obj.Value) })
	return gone
}
