package govmomi

import (
	"context"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

// feed brings the inventory below the root folder into the index until an error occurs or ctx ends.
type feed interface {
	Run(ctx context.Context) error
}

func (s *Server) newFeed(c *connection) feed {
	source := source{server: s, conn: c, reader: reader{client: c.client, index: s.index, ops: s.ops}}
	if s.cfg.Mode == Poll {
		return &pollFeed{source: source, interval: s.cfg.PollInterval}
	}
	return &watchFeed{source: source}
}

// source is the common part of both feeds: a view of the root folder and full listings of the view.
type source struct {
	server *Server
	conn   *connection
	reader reader
	view   vsphere.Ref
	// viewed is the creation time of the view.
	viewed time.Time
}

// openView creates a view. It replaces a view that is old or lacks an object that was found below the root.
func (f *source) openView(ctx context.Context) error {
	stale := f.server.takeViewStale()
	if !f.view.IsZero() && !stale && f.server.cfg.Now().Sub(f.viewed) < f.server.cfg.ResyncInterval {
		return nil
	}
	view, err := createView(ctx, f.conn.client, f.conn.root.Ref, vsphere.TypeVirtualMachine, vsphere.TypeFolder)
	if err != nil {
		return translate("make a view of folder "+f.conn.root.Path, err)
	}
	if !f.view.IsZero() {
		destroyView(ctx, f.conn.client, f.view)
	}
	f.view, f.viewed = view, f.server.cfg.Now()
	return nil
}

// list reads and applies a full listing.
func (f *source) list(ctx context.Context) error {
	began := f.server.index.Begin()
	vms, folders, err := f.reader.list(ctx, f.view)
	if err != nil {
		return translate("list folder "+f.conn.root.Path, err)
	}
	f.apply(began, vms, folders)
	return nil
}

func (f *source) apply(began inventory.Moment, vms []inventory.Seen, folders []vsphere.Folder) {
	f.server.index.ApplyListing(began, vms, folders)
	f.followed()
}

// followed runs after a full listing was applied.
func (f *source) followed() {
	f.server.ask(f.server.outside(f.server.index.Elsewhere()))
	f.server.applied()
}

// applied runs after every application to the index.
func (s *Server) applied() {
	s.settle()
	if s.ops.WantsListing(uint64(s.index.Applied())) {
		kick(s.listKick)
	}
	if len(s.index.Suspects()) > 0 {
		kick(s.confirmKick)
	}
	s.readAgain(s.index.Doubted()...)
	kick(s.compareKick)
}

func (s *Server) takeViewStale() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	stale := s.viewStale
	s.viewStale = false
	return stale
}

// pollFeed reads a full listing every interval.
type pollFeed struct {
	source
	interval time.Duration
}

func (f *pollFeed) Run(ctx context.Context) error {
	for {
		if err := f.openView(ctx); err != nil {
			return err
		}
		if err := f.list(ctx); err != nil {
			return err
		}
		if !sleep(ctx, f.interval) {
			return ctx.Err()
		}
	}
}
