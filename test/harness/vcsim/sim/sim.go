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
	// Listen is host:port; port 0, the default, takes a free one on the loopback interface.
	Listen string
	// Templates are the names of the VMs that are marked as template, in /DC0/vm. Nil means vm-operator-template.
	Templates []string
	// Ordinary are the names of ordinary VMs in /DC0/vm. Nil means db-prod-0.
	Ordinary []string
	// Hosts in the one cluster; two unless set.
	Hosts int
	// DRS of that cluster: see Simulator.SetDRS.
	DRS DRS
	// HoldPlacing says until what a task hangs that places VMs before it powers them on; nil for not at all.
	HoldPlacing func() (until <-chan struct{})
	// NoPlacedTasks has such a task not name those that power VMs on, where DRS chose the host.
	NoPlacedTasks bool
	// CloneDelay is how long the task of a clone runs.
	CloneDelay time.Duration
	// CloneShows is what vCenter shows of a VM while its clone runs. Which of these a vCenter does is not documented.
	CloneShows Making
	// Courses says how each clone goes, by the name of the VM to be, in place of CloneShows.
	Courses func(name string) Course
	// RunningTasks is how many tasks run at a time; more are queued. 0 for any number. What only people do in tests, such as snapshots, does not count.
	RunningTasks int
	// RefuseBusy refuses to change a VM while another task of it is queued or runs; unless set, one runs after the other. A vCenter does either.
	RefuseBusy bool
	// HoldClone says of a clone, by the name of the VM to be, until what it hangs after CloneDelay, and whether its VM takes its name
	// meanwhile; nil for not at all. Nobody sees the VM of a clone that hangs so.
	HoldClone func(name string) (until <-chan struct{}, takesName bool)
	// TokenServiceStart is for how long a vCenter that has started rejects every login of the program under test, since
	// its token service is not ready.
	TokenServiceStart time.Duration
	// Username and Password of the program under test; user and pass unless set. Other passwords are refused.
	Username, Password string
	// Privileges of that account on every object; nil means OperatorPrivileges.
	Privileges []string
	// NoRootPermission takes everything on the vCenter's root object from that account. Then vCenter shows it neither the recent tasks nor tasks whose object is gone, and
	// versions 7.0.3.2 to 8.0.2 refuse every page of a listing but the first.
	NoRootPermission bool
	// RootLenient shows recent tasks, events and all pages to an account without a permission on the root object: with NoRootPermission, only tasks are hidden whose object is gone.
	RootLenient bool
	// NarrowRole leaves that account only the role Read-only on datacenters.
	NarrowRole bool
	// MoveChangeVersion has the change version of a VM move when it is powered on or off, when a snapshot is taken or removed, and when its guest writes. Whether
	// vCenter does that is not documented.
	MoveChangeVersion bool
	// ShowHiddenReferences has properties refer to objects that the account does not see: see Simulator.Hide.
	ShowHiddenReferences bool
	// AdminUsername and AdminPassword of a person who may do everything; unless set, the constants of these names.
	AdminUsername, AdminPassword string
	// TaskRetention is how long tasks are kept after they ended; ten minutes unless set.
	TaskRetention time.Duration
	// PageSize is how many objects a page of a listing or of news has at most, whatever the client asks for; 0 for as many as that.
	PageSize int32
	// EventDelay is how long after what it tells of an event comes.
	EventDelay time.Duration
	// EventDomain is the domain that events name accounts with, as DOMAIN\user, whatever was typed at the login; empty for names as at the login.
	EventDomain string
	// TLS serves https with a self-signed certificate.
	TLS bool
	// AnySOAPAction accepts requests whose header SOAPAction names no version of the API. Whether a vCenter does is not documented.
	AnySOAPAction bool
	// NoVersionsFile hides /sdk/vimServiceVersions.xml.
	NoVersionsFile bool
	// HTTPSessions is how many sessions there may be, those without a login included; 2,000 unless set.
	HTTPSessions int
	// IdleTimeout is after how long a session ends that nobody uses, with or without a login; 30 minutes unless set.
	IdleTimeout time.Duration
	// APIVersion of the vCenter; that of 8.0 Update 3 unless set.
	APIVersion string
	// InstanceUUID of the vCenter; that of govmomi's simulator unless set. Two vCenters that a test tells apart need two.
	InstanceUUID string
}

// Simulator is a running simulator. Close it.
type Simulator struct {
	// URL of the SDK without credentials.
	URL string
	// CA is the server's certificate in PEM; empty without TLS.
	CA []byte

	opts     Options
	model    *simulator.Model
	rules    *strict
	entrance *door
	server   *simulator.Server
}

// noHandoff sets once, before any simulator reads it, that a call does not hand the lock of its object on to its task: nobody
// could read the object while the task waits.
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

// creating is held while a model is made: govmomi's licenses are one variable for all models.
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
		holdClone:  o.HoldClone,
		shows:      o.CloneShows,
		courses:    o.Courses,
		drs:        drs{hold: o.HoldPlacing, unnamed: o.NoPlacedTasks},
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
	// From now on: populate waits for tasks, which must be there when it looks.
	rules.retention.begin(o.TaskRetention)
	return s, nil
}

// checkListen turns an address that cannot be used into an error: the simulator itself panics.
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

// closePatience is how long Close waits for requests to end. The simulator does not notice that a client is gone
// that waits for updates, and would be waited for until that wait is over.
const closePatience = 2 * time.Second

// Close stops serving and removes the simulator's files. Requests that hang are cut off.
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

// Sessions returns the number of logins that the simulator holds, besides that of the caller.
func (s *Simulator) Sessions(ctx context.Context) (int, error) {
	op, err := s.Operator(ctx)
	if err != nil {
		return 0, err
	}
	defer op.Close()
	list, err := op.sessions(ctx)
	return len(list), err
}
