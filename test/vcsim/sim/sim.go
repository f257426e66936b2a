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
	// CloneDelay is how long the task of a clone runs. It is one for all simulators of the process.
	CloneDelay time.Duration
	// Username and Password that are accepted; user and pass unless set. Other passwords are refused.
	Username, Password string
	// TLS serves https with a self-signed certificate.
	TLS bool
}

// Simulator is a running simulator. Close it.
type Simulator struct {
	// URL of the SDK without credentials.
	URL string
	// CA is the server's certificate in PEM; empty without TLS.
	CA []byte

	opts   Options
	model  *simulator.Model
	server *simulator.Server
}

// delayMu guards simulator.TaskDelay, which is a variable of the simulator's package.
var delayMu sync.Mutex

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
}

// Start starts a simulator.
func Start(o Options) (*Simulator, error) {
	setDefaults(&o)
	if err := checkListen(o.Listen); err != nil {
		return nil, err
	}
	setCloneDelay(o.CloneDelay)

	model := simulator.VPX()
	model.Host, model.ClusterHost, model.Machine = 0, o.Hosts, 0
	if err := model.Create(); err != nil {
		model.Remove()
		return nil, fmt.Errorf("create the simulator's model: %w", err)
	}
	service := model.Service
	replaceCollectors(service)
	service.Listen = &url.URL{Host: o.Listen, User: url.UserPassword(o.Username, o.Password)}
	if o.TLS {
		service.TLS = new(tls.Config)
	}
	service.RegisterEndpoints = true
	s := &Simulator{opts: o, model: model, server: service.NewServer()}
	u := *s.server.URL
	u.User = nil
	s.URL = u.String()
	if o.TLS {
		s.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
	}
	if err := s.populate(context.Background()); err != nil {
		s.Close()
		return nil, err
	}
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

func setCloneDelay(d time.Duration) {
	delayMu.Lock()
	defer delayMu.Unlock()
	// Running simulators read the variable without a lock: it is written only when it changes.
	if now, ok := simulator.TaskDelay.MethodDelay["CloneVm"]; ok && now == int(d.Milliseconds()) {
		return
	}
	// The name of the task, not of the call: CloneVM_Task would delay the reply instead.
	simulator.TaskDelay.MethodDelay = map[string]int{"LockHandoff": 0, "CloneVm": int(d.Milliseconds())}
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

// Username and Password that the simulator accepts.
func (s *Simulator) Username() string { return s.opts.Username }

// Password that the simulator accepts.
func (s *Simulator) Password() string { return s.opts.Password }

// Close stops serving and removes the simulator's files. Requests that hang are cut off.
func (s *Simulator) Close() {
	// A client that waits for updates would hold up the server for a minute.
	s.server.CloseClientConnections()
	s.server.Close()
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
