package govmomi

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/inventoryname"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
)

// connection is a session and the places found with it.
type connection struct {
	session    *session.Session
	client     *vim25.Client
	datacenter datacenter
	root       vsphere.Folder
}

type datacenter struct {
	ref      vsphere.Ref
	path     string
	vmFolder vsphere.Ref
}

var (
	errNotConnected = errors.New("the vCenter is not connected")
	errNotVCenter   = errors.New("the server is no vCenter; a single ESXi host cannot clone")
	errNoInstance   = errors.New("the server gives an instance UUID that no vCenter has: at most 64 letters, digits and -_./@+:% are one; check what answers at that address")
)

// live returns the connection, or the reason why there is none.
func (s *Server) live(op string) (*connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil && s.state.reachable {
		return s.conn, nil
	}
	if s.state.err != nil {
		return nil, translate(op, s.state.err)
	}
	return nil, &vsphere.Error{Kind: vsphere.KindTransient, Op: op, Err: errNotConnected}
}

// atLeast reports whether the vCenter has at least this API version.
func (c *connection) atLeast(version ...int) bool {
	has := strings.Split(c.client.ServiceContent.About.ApiVersion, ".")
	for i, want := range version {
		n := 0
		if i < len(has) {
			n, _ = strconv.Atoi(has[i])
		}
		if n != want {
			return n > want
		}
	}
	return true
}

// bootstrapFence always permits: see the package comment.
func bootstrapFence() error { return nil }

// connect finds the datacenter and the root folder. If the root folder is missing, connect creates it.
func (s *Server) connect(ctx context.Context, sess *session.Session) (*connection, error) {
	c := &connection{session: sess, client: sess.Client()}
	if !c.client.IsVC() {
		return nil, &vsphere.Error{Kind: vsphere.KindSpec, Op: "connect", Err: errNotVCenter}
	}
	if !plausible(c.client.ServiceContent.About.InstanceUuid) {
		return nil, &vsphere.Error{Kind: vsphere.KindSpec, Op: "connect", Err: errNoInstance}
	}
	if err := s.findPlace(ctx, c); err != nil {
		return nil, err
	}
	return c, nil
}

// mostInstance is the maximum length of an instance UUID in bytes. Those of vCenters have 36.
const mostInstance = 64

// plausible reports whether a vCenter can have this UUID, or none. The UUID appears in status, and in commands that users copy into a
// shell.
func plausible(instanceUUID string) bool {
	return instanceUUID == "" || len(instanceUUID) <= mostInstance && untrusted.Plain(instanceUUID)
}

func (s *Server) ensureRoot(ctx context.Context, c *connection) (vsphere.Folder, error) {
	ctx = vsphere.WithFence(ctx, bootstrapFence)
	folder := vsphere.Folder{Ref: c.datacenter.vmFolder, Name: "vm", Path: c.datacenter.path + "/vm"}
	for name := range strings.SplitSeq(strings.Trim(s.cfg.RootFolder, "/"), "/") {
		ref, err := findChild(ctx, c.client, folder.Ref, name)
		if err != nil {
			return folder, translate("look for folder "+folder.Path+"/"+name, err)
		}
		if ref.IsZero() {
			if ref, err = createFolder(ctx, c.client, folder.Ref, name); err != nil {
				return folder, translate("create folder "+folder.Path+"/"+name, err)
			}
		}
		if ref.Type != vsphere.TypeFolder {
			return folder, &vsphere.Error{Kind: vsphere.KindSpec, Op: "look for folder " + folder.Path + "/" + name,
				Object: ref, Err: fmt.Errorf("%s is a %s, not a folder; choose another root folder", ref, ref.Type)}
		}
		folder = vsphere.Folder{Ref: ref, Name: name, Parent: folder.Ref, Path: folder.Path + "/" + name}
	}
	return folder, nil
}

// findChild returns the entity with a name in a folder, or the zero Ref.
func findChild(ctx context.Context, c *vim25.Client, parent vsphere.Ref, name string) (vsphere.Ref, error) {
	resp, err := methods.FindChild(ctx, c, &types.FindChild{
		This: *c.ServiceContent.SearchIndex, Entity: toRef(parent), Name: name,
	})
	if err != nil || resp.Returnval == nil {
		return vsphere.Ref{}, err
	}
	return fromRef(*resp.Returnval), nil
}

// createFolder creates a folder, or returns the existing entity with that name.
func createFolder(ctx context.Context, c *vim25.Client, parent vsphere.Ref, name string) (vsphere.Ref, error) {
	resp, err := methods.CreateFolder(ctx, c, &types.CreateFolder{This: toRef(parent), Name: name})
	if err == nil {
		return fromRef(resp.Returnval), nil
	}
	if f, ok := is[*types.DuplicateName](err); ok {
		if f.Object.Value != "" {
			return fromRef(f.Object), nil
		}
		return findChild(ctx, c, parent, name)
	}
	return vsphere.Ref{}, err
}

func findDatacenter(ctx context.Context, c *vim25.Client, want string) (datacenter, error) {
	const op = "find the datacenter"
	objects, err := contained(ctx, c, fromRef(c.ServiceContent.RootFolder), []types.PropertySpec{
		{Type: "Datacenter", PathSet: []string{"name", "parent", "vmFolder"}},
		{Type: "Folder", PathSet: []string{"name", "parent"}},
	})
	if err != nil {
		return datacenter{}, translate(op, err)
	}
	tree := newTree(fromRef(c.ServiceContent.RootFolder))
	var all []datacenter
	for _, o := range objects {
		tree.add(o.ref, o.refOf("parent"), o.text("name"))
	}
	for _, o := range objects {
		if o.ref.Type == "Datacenter" {
			all = append(all, datacenter{ref: o.ref, path: strings.ReplaceAll(tree.path(o.ref), "/"+inventoryname.Unseen, ""), vmFolder: o.refOf("vmFolder")})
		}
	}
	paths := make([]string, len(all))
	for i := range all {
		paths[i] = all[i].path
	}
	i, err := choose("datacenter", want, paths)
	if err != nil {
		return datacenter{}, translate(op, err)
	}
	return all[i], nil
}
