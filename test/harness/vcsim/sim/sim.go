package sim

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
)

// Options of a simulator. The zero value is a vCenter with one template and one ordinary VM.
type Options struct {
	// Listen is host:port. Port 0, the default, means a free port on the loopback interface.
	Listen string
	// Templates are the names of the templates in /DC0/vm. Nil means vm-operator-template.
	Templates []string
	// Ordinary are the names of ordinary VMs in /DC0/vm. Nil means db-prod-0.
	Ordinary []string
	// Hosts in the only cluster. The default is two.
	Hosts int
	// DRS of that cluster: see Simulator.SetDRS.
	DRS DRS
	// HoldPlacing returns a channel on which a task that places VMs waits before it powers them on. Nil means no wait.
	HoldPlacing func() (until <-chan struct{})
	// NoPlacedTasks makes such a task omit the power-on tasks in its result, if DRS chose the host.
	NoPlacedTasks bool
	// CloneDelay is the duration of a clone's task.
	CloneDelay time.Duration
	// CloneShows is the state that vCenter shows of a VM while its clone runs. vCenter's behavior is not documented.
	CloneShows Making
	// Courses returns the course of each clone by the name of the new VM. It overrides CloneShows.
	Courses func(name string) Course
	// RunningTasks limits the tasks that run at a time. More are queued. 0 means no limit. Tasks that only users start in tests, such as snapshots, do not
	// count.
	RunningTasks int
	// RefuseBusy refuses changes of a VM while another task of it is queued or running. Otherwise its tasks run one at a time. A vCenter can do either.
	RefuseBusy bool
	// HoldClone returns a channel on which a clone waits after CloneDelay, by the name of the new VM. It also returns whether the clone reserves the name
	// meanwhile. Nil means no wait. The VM of a waiting clone is invisible.
	HoldClone func(name string) (until <-chan struct{}, takesName bool)
	// HoldRemoval returns a channel until which a VM stays in the inventory after the task of its destruction succeeded. Nil means no wait. vCenter's behavior is not
	// documented.
	HoldRemoval func() (until <-chan struct{})
	// TokenServiceStart is the time after the start in which vCenter's token service is not ready. A vCenter then rejects every
	// login of the program under test.
	TokenServiceStart time.Duration
	// Username and Password of the program under test. The defaults are user and pass. Other passwords are refused.
	Username, Password string
	// Privileges of that account on every object. Nil means OperatorPrivileges.
	Privileges []string
	// NoRootPermission removes all privileges of that account on the vCenter's root object. Then vCenter hides recent tasks and tasks whose object was removed.
	// Versions 7.0.3.2 to 8.0.2 also refuse every page of a listing but the first.
	NoRootPermission bool
	// RootLenient shows recent tasks, events and all pages to an account without a permission on the root object. With NoRootPermission, only tasks of removed
	// objects are hidden.
	RootLenient bool
	// NarrowRole leaves that account only the role Read-only on datacenters.
	NarrowRole bool
	// MoveChangeVersion changes the change version of a VM at power changes, when a snapshot is taken or removed, and when its guest writes. vCenter's behavior
	// is not documented.
	MoveChangeVersion bool
	// ShowHiddenReferences makes properties refer to objects that the account cannot see: see Simulator.Hide.
	ShowHiddenReferences bool
	// AdminUsername and AdminPassword of a user with all privileges. The defaults are the constants of these names.
	AdminUsername, AdminPassword string
	// TaskRetention is the time for which ended tasks are kept. The default is ten minutes.
	TaskRetention time.Duration
	// PageSize limits the objects in a page of a listing or of updates. 0 means the limit of the client.
	PageSize int32
	// EventDelay is the time until an event appears.
	EventDelay time.Duration
	// EventDomain is the domain of account names in events, as DOMAIN\user, whatever the user typed at the login. If it is empty, names are as at the login.
	EventDomain string
	// TLS serves HTTPS with a self-signed certificate.
	TLS bool
	// AnySOAPAction accepts requests whose header SOAPAction names no version of the API. vCenter's behavior is not documented.
	AnySOAPAction bool
	// NoVersionsFile hides /sdk/vimServiceVersions.xml.
	NoVersionsFile bool
	// HTTPSessions limits the sessions, including those without a login. The default is 2,000.
	HTTPSessions int
	// IdleTimeout is the idle time after which a session ends, with or without a login. The default is 30 minutes.
	IdleTimeout time.Duration
	// APIVersion of the vCenter. The default is that of 8.0 Update 3.
	APIVersion string
	// InstanceUUID of the vCenter. The default is that of govmomi's simulator. A test with two distinct vCenters needs two UUIDs.
	InstanceUUID string
}

// Simulator is a running simulator. The caller must close it.
type Simulator struct {
	// URL of the SDK without credentials.
	URL string
	// CA is the server's certificate in PEM. It is empty without TLS.
	CA []byte

	opts     Options
	model    *simulator.Model
	rules    *strict
	entrance *door
	server   *simulator.Server
}

// noHandoff prevents a call from passing the lock of its object to its task, because no client could read the object while the task waits. It runs once, before
// any simulator reads the variable.
var noHandoff = sync.OnceFunc(func() { simulator.TaskDelay.MethodDelay = map[string]int{"LockHandoff": 0} })

func setDefaults(o *Options) {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Templates == nil {
		o.Templates = []string{"vm-operator-template"}
	}
	if o.Ordinary == nil {
		o.Ordinary = []string{"db-prod-0"}
	}
	if o.Hosts == 0 {
		o.Hosts = 2
	}
	if o.Username == "" {
		o.Username = "user"
	}
	if o.Password == "" {
		o.Password = "pass"
	}
	if o.Privileges == nil {
		o.Privileges = OperatorPrivileges
	}
	if o.AdminUsername == "" {
		o.AdminUsername = AdminUsername
	}
	if o.AdminPassword == "" {
		o.AdminPassword = AdminPassword
	}
	if o.HTTPSessions == 0 {
		o.HTTPSessions = mostHTTPSessions
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = defaultIdleTimeout
	}
	if o.APIVersion == "" {
		o.APIVersion = "8.0.3.0"
	}
	if o.TaskRetention == 0 {
		o.TaskRetention = 10 * time.Minute
	}
}

// creating is held while a model is made, because govmomi's licenses are one variable for all models.
var creating sync.Mutex

// Start starts a simulator.
func Start(o Options) (*Simulator, error) {
	setDefaults(&o)
	if err := checkListen(o.Listen); err != nil {
		return nil, err
	}
	noHandoff()

	model := simulator.VPX()
	model.Host, model.ClusterHost, model.Machine = 0, o.Hosts, 0
	model.ServiceContent.About.ApiVersion = o.APIVersion
	if o.InstanceUUID != "" {
		model.ServiceContent.About.InstanceUuid = o.InstanceUUID
	}
	creating.Lock()
	err := model.Create()
	creating.Unlock()
	if err != nil {
		model.Remove()
		return nil, fmt.Errorf("create the simulator's model: %w", err)
	}
	markUplinks(model.Map())
	service := model.Service
	rules := &strict{
		access: access{
			username: o.Username, password: o.Password,
			adminUsername: o.AdminUsername, adminPassword: o.AdminPassword, privileges: o.Privileges, noRoot: o.NoRootPermission, rootLenient: o.RootLenient,
			tokensAfter: o.TokenServiceStart,
			narrow:      o.NarrowRole,
		},
		pageSize:   o.PageSize,
		history:    history{delay: o.EventDelay, domain: o.EventDomain},
		hidden:     hidden{shown: o.ShowHiddenReferences},
		guests:     guests{movesVersion: o.MoveChangeVersion},
		cloneDelay: o.CloneDelay,
		holdClone:  o.HoldClone, holdRemoval: o.HoldRemoval,
		shows:   o.CloneShows,
		courses: o.Courses,
		drs:     drs{hold: o.HoldPlacing, unnamed: o.NoPlacedTasks},
	}
	rules.tasks.queue.open(o)
	rules.access.starts()
	replaceCollectors(service, &rules.makings)
	enforce(service, rules)
	entrance := &door{
		anyAction: o.AnySOAPAction, noVersions: o.NoVersionsFile,
		sessions: httpSessions{registry: model.Map(), idle: o.IdleTimeout, most: o.HTTPSessions, strangers: map[string]stranger{}},
	}
	entrance.open(service)
	service.Listen = &url.URL{Host: o.Listen, User: url.UserPassword(o.Username, o.Password)}
	if o.TLS {
		service.TLS = new(tls.Config)
	}
	service.RegisterEndpoints = true
	s := &Simulator{opts: o, model: model, rules: rules, entrance: entrance, server: service.NewServer()}
	u := *s.server.URL
	u.User = nil
	s.URL = u.String()
	if o.TLS {
		s.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
	}
	if err := s.SetDRS("DC0_C0", o.DRS); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.populate(context.Background()); err != nil {
		s.Close()
		return nil, err
	}
	// Begin only now, because populate waits for tasks, which must still exist.
	rules.retention.begin(o.TaskRetention)
	return s, nil
}

// checkListen returns an error for an unusable address, because the simulator panics.
func checkListen(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l.Close()
}

func (s *Simulator) populate(ctx context.Context) error {
	op, err := s.Operator(ctx)
	if err != nil {
		return err
	}
	defer op.Close()
	for _, name := range s.opts.Ordinary {
		if _, err := op.CreateVM(ctx, "/DC0/vm", name); err != nil {
			return err
		}
	}
	for _, name := range s.opts.Templates {
		if err := op.AddTemplate(ctx, "/DC0/vm", name); err != nil {
			return err
		}
	}
	return nil
}

// Username of the program under test.
func (s *Simulator) Username() string { return s.opts.Username }

// Password of the program under test.
func (s *Simulator) Password() string { return s.opts.Password }

// closePatience is the timeout of Close for open requests. The simulator does not notice that a client that waits for updates has disconnected, and would delay
// Close until that wait ends.
const closePatience = 2 * time.Second

// Close stops serving and removes the simulator's files. It cuts hanging requests.
func (s *Simulator) Close() {
	s.server.CloseClientConnections()
	closed := make(chan struct{})
	go func() {
		s.server.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(closePatience):
	}
	s.rules.tasks.end(s.model.Map())
	s.model.Remove()
}

// Sessions returns the number of logins in the simulator, without that of the caller.
func (s *Simulator) Sessions(ctx context.Context) (int, error) {
	op, err := s.Operator(ctx)
	if err != nil {
		return 0, err
	}
	defer op.Close()
	list, err := op.sessions(ctx)
	return len(list), err
}
