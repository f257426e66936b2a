package main

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/codeconnect/vmgroup-operator/internal/controller/vcenter"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
)

// dialer makes vCenter connections on govmomi.
func dialer(installation string) vcenter.Dial {
	return func(c vcenter.Config, notifier vsphere.Notifier) vcenter.Connection {
		mode := govmomi.Watch
		if c.Poll {
			mode = govmomi.Poll
		}
		return connection{govmomi.New(govmomi.Config{
			Name: c.Name,
			Session: session.Config{
				URL: c.URL, Username: c.Username, Password: c.Password,
				TLS:       session.TLS{CABundle: []byte(c.CABundle), Thumbprint: c.Thumbprint, Insecure: c.Insecure},
				UserAgent: "vmgroup-operator/" + version,
			},
			Installation: installation,
			Datacenter:   c.Datacenter, RootFolder: c.Folder,
			ResourcePool: c.ResourcePool, Datastore: c.Datastore, Network: c.Network,
			TemplateFolders: c.TemplateFolders,
			Mode:            mode, PollInterval: c.PollInterval,
			Limits:      budget.Limits{Tasks: c.Tasks, TasksPerHost: c.TasksPerHost},
			ExpectedVMs: c.ExpectedVMs,
			Notifier:    notifier,
			Log:         ctrl.Log.WithName("vsphere"),
		})}
	}
}

type connection struct{ *govmomi.Server }

// SetLimits translates to the budget's own type.
func (c connection) SetLimits(tasks, tasksPerHost int) {
	c.Server.SetLimits(budget.Limits{Tasks: tasks, TasksPerHost: tasksPerHost})
}
