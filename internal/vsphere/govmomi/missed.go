package govmomi

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// missFirst and missLast limit the pause before the next search for a missing name. It doubles with each search.
	missFirst = 5 * time.Second
	missLast  = 5 * time.Minute
	// mostMisses is the maximum number of remembered names. No other name is searched for before the next read of the catalog.
	mostMisses = 1000
	// missedAtOnce is the number of names in one round.
	missedAtOnce = 20
)

// missing is a name that groups use and that the catalog does not have.
type missing struct{ kind, name string }

// misses are names that were not found. Members can invent any number of names.
type misses struct {
	mu    sync.Mutex
	names map[missing]*look
}

// look is the time of a name's next search, and the pause after it.
type look struct {
	next  time.Time
	pause time.Duration
	// asked is true while a group waits for it.
	asked bool
}

// ask notes that a group misses a name, and reports whether a search is due.
func (m *misses) ask(name missing, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.names[name]
	if l == nil {
		m.forget(now)
		if len(m.names) >= mostMisses {
			return false
		}
		if m.names == nil {
			m.names = map[missing]*look{}
		}
		l = &look{next: now, pause: missFirst}
		m.names[name] = l
	}
	l.asked = true
	return !now.Before(l.next)
}

// forget drops names that no group asked for since their next search was due. The caller holds the lock.
func (m *misses) forget(now time.Time) {
	if len(m.names) < mostMisses {
		return
	}
	for name, l := range m.names {
		if !l.asked && now.Sub(l.next) > missLast {
			delete(m.names, name)
		}
	}
}

// due returns the names to search for, and sets the time of each name's next search.
func (m *misses) due(now time.Time) (names []missing) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, l := range m.names {
		if len(names) == missedAtOnce {
			break
		}
		if !l.asked || now.Before(l.next) {
			continue
		}
		names = append(names, name)
		l.asked, l.next, l.pause = false, now.Add(l.pause), min(2*l.pause, missLast)
	}
	return names
}

// lookFor requests a search for a missing name, if one is due.
func (s *Server) lookFor(kind, name string) {
	if name != "" && s.misses.ask(missing{kind, name}, s.cfg.Now()) {
		kick(s.catalogKick)
	}
}

// lookForMissed searches for names that groups miss, with one call for each. It reports whether vCenter has an object that the catalog lacks.
func (s *Server) lookForMissed(ctx context.Context, c *connection) (appeared bool, err error) {
	for _, m := range s.misses.due(s.cfg.Now()) {
		for _, path := range s.pathsOfMissing(c, m) {
			ref, err := findPath(ctx, c, path)
			is := false
			if err == nil {
				is, err = s.isMissing(ctx, c, m.kind, ref)
			}
			switch {
			case is:
				return true, nil
			case err != nil && !isFault(err) && !errors.Is(err, errUnreadable): // vCenter's answer about an invented name must not end the connection
				return false, translate("look for "+m.kind+" "+path, err)
			}
		}
	}
	return false, nil
}

// pathsOfMissing returns the paths to search for a name: the name itself if it is a path, else directly below the folder of its kind. The next read of the
// catalog finds deeper objects.
func (s *Server) pathsOfMissing(c *connection, m missing) []string {
	if strings.HasPrefix(m.name, "/") {
		return []string{m.name}
	}
	if m.kind == kindTemplate && len(s.cfg.TemplateFolders) > 0 {
		paths := make([]string, 0, len(s.cfg.TemplateFolders))
		for _, folder := range s.cfg.TemplateFolders {
			paths = append(paths, "/"+strings.Trim(folder, "/")+"/"+m.name)
		}
		return paths
	}
	folder := map[string]string{kindTemplate: "vm", kindDatastore: "datastore", kindNetwork: "network", kindPool: "host"}[m.kind]
	return []string{c.datacenter.path + "/" + folder + "/" + m.name}
}

// findPath returns the object at an inventory path, or the zero Ref.
func findPath(ctx context.Context, c *connection, path string) (vsphere.Ref, error) {
	resp, err := methods.FindByInventoryPath(ctx, c.client, &types.FindByInventoryPath{
		This: *c.client.ServiceContent.SearchIndex, InventoryPath: strings.Trim(path, "/"),
	})
	if err != nil || resp.Returnval == nil {
		return vsphere.Ref{}, err
	}
	return fromRef(*resp.Returnval), nil
}

// isMissing reports whether an object has the kind and is not in the catalog.
func (s *Server) isMissing(ctx context.Context, c *connection, kind string, ref vsphere.Ref) (bool, error) {
	got := s.cat.get()
	if ref.IsZero() || got == nil {
		return false, nil
	}
	in := func(places []place) bool {
		return slices.ContainsFunc(places, func(p place) bool { return p.ref == ref })
	}
	switch kind {
	case kindTemplate:
		if _, known := s.entry(ref); known || ref.Type != vsphere.TypeVirtualMachine {
			return false, nil
		}
		o, err := exact(ctx, c.client, ref, propTemplate)
		return o.yes(propTemplate), err
	case kindDatastore:
		return ref.Type == typeDatastore && !in(got.datastores), nil
	case kindNetwork:
		return slices.Contains([]string{typeNetwork, typePortgroup, typeOpaque}, ref.Type) && !in(got.networks), nil
	}
	_, compute := got.computes[ref]
	return !compute && !in(got.pools) && (ref.Type == typePool || strings.HasSuffix(ref.Type, typeCompute)), nil
}
