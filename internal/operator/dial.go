package operator

import (
	"context"
	"sync"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/codeconnect/vmgroup-operator/internal/controller/vcenter"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/callmetrics"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/logins"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/share"
)

// dialer returns a function that creates vCenter connections with govmomi. process distinguishes their sessions from those of other
// runs. shared divides the task limits with other replicas. calls counts requests. keeper decides about logins. witness reports users
// who changed VMs in a vCenter.
func dialer(userAgent, installation string, process *session.Process, keeper *logins.Keeper, shared *share.Coordinator, calls *callmetrics.Calls, witness func(vcenter string) vsphere.Witness) vcenter.Dial {
	sightings := new(operations.Sightings)
	return func(c vcenter.Config, notifier vsphere.Notifier) vcenter.Connection {
		mode := govmomi.Watch
		if c.Poll {
			mode = govmomi.Poll
		}
		meter := calls.Of(c.Name)
		login := c.Session(userAgent, keeper.Gate(c.URL, c.Username, c.Password, c.Attempt), session.Identity{Installation: installation, VCenter: c.Name, Process: process})
		login.Meter = meter
		server := govmomi.New(govmomi.Config{
			Name:         c.Name,
			Session:      login,
			Installation: installation,
			Datacenter:   c.Datacenter, RootFolder: c.Folder,
			ResourcePool: c.ResourcePool, Datastore: c.Datastore, Network: c.Network,
			TemplateFolders: c.TemplateFolders,
			Mode:            mode, PollInterval: c.PollInterval,
			Limits:      budget.Limits{Tasks: c.Tasks, TasksPerHost: c.TasksPerHost},
			ExpectedVMs: c.ExpectedVMs,
			Known:       knownPlace(c),
			Sightings:   sightings,
			Notifier:    notifier,
			Tasks:       meter,
			Witness:     witness(c.Name),
			Log:         ctrl.Log.WithName("vsphere"),
		})
		// The usage of other replicas is not known yet.
		server.Budget().SetCaps(budget.Caps{Tasks: 1, OtherHosts: -1})
		return &connection{Server: server, name: c.Name, shared: shared}
	}
}

// knownPlace returns where the root folder was before this process.
func knownPlace(c vcenter.Config) vsphere.Place {
	if c.Root == nil {
		return vsphere.Place{}
	}
	return vsphere.Place{InstanceUUID: c.Root.InstanceUUID, Datacenter: c.Root.Datacenter, Folder: c.Root.Folder, Root: vsphere.FolderRef(c.Root.MoRef)}
}

type connection struct {
	*govmomi.Server
	name   string
	shared *share.Coordinator

	mu    sync.Mutex
	leave func()
	ended bool
}

// SetLimits is called repeatedly for a connection that serves groups. The first call adds its budget to the shared ones; a connection
// that is only tried must not replace it.
func (c *connection) SetLimits(tasks, tasksPerHost int) {
	c.Server.SetLimits(budget.Limits{Tasks: tasks, TasksPerHost: tasksPerHost})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leave == nil && !c.ended {
		c.leave = c.shared.Add(c.name, c.Budget())
	}
}

// Run implements vcenter.Connection.
func (c *connection) Run(ctx context.Context) error {
	err := c.Server.Run(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.leave != nil {
		c.leave()
	}
	return err
}
