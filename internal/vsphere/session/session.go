package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/logins"
)

const (
	defaultCallTimeout = 60 * time.Second
	changeTimeout      = 15 * time.Second
	// loginTimeout is shorter than the time limit of a try: see logins.
	loginTimeout = 20 * time.Second
	// endTimeout limits the time for storing the result of a login.
	endTimeout  = 5 * time.Second
	dialTimeout = 10 * time.Second
	// idleConnections is the number of idle connections to keep open, as many as concurrent calls. With Go's default of two, most calls of a busy vCenter would
	// need a new TLS handshake.
	idleConnections = 32

	opConnect = "connect to vCenter"
)

var (
	errClosed   = errors.New("the session was closed")
	errRedirect = errors.New("the server leads to another address, and that is not followed: spec.server has to name the vCenter itself")
)

// Session is one login to one vCenter. It is safe for concurrent use.
type Session struct {
	cfg    Config
	soap   *soap.Client
	client *vim25.Client
	now    func() time.Time
	gate   *logins.Gate
	// mark is the mark in the user agent, or nil without an identity.
	mark *mark

	// loginMu is held during a login or logout, and never by a call that waits for something else.
	loginMu sync.Mutex

	mu         sync.Mutex
	generation uint64
	changed    chan struct{}
	// user and key of the login. The key is empty if vCenter did not report it.
	user, key string
	closed    bool
	// heard is the time of the server's last answer.
	heard time.Time

	// knock is knock with the session's settings.
	knock func(context.Context) error
}

var _ soap.RoundTripper = (*Session)(nil)

// Dial prepares a session and reads the server's content without logging in. Errors are *vsphere.Error of kind Certificate, Spec (invalid URL or TLS settings)
// or Transient.
func Dial(ctx context.Context, cfg Config) (*Session, error) {
	sc, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	s := &Session{cfg: cfg, now: time.Now, gate: cfg.gate(), changed: make(chan struct{}), soap: sc}
	s.knock = func(ctx context.Context) error { return knock(ctx, cfg) }
	sc.UserAgent = s.identify()

	ctx, cancel := context.WithTimeout(ctx, min(cfg.knockEvery(), orDefault(cfg.CallTimeout, defaultCallTimeout)))
	defer cancel()
	client, err := vim25.NewClient(ctx, sc)
	if err != nil {
		s.forget()
		sc.CloseIdleConnections()
		return nil, connectError(opConnect, err)
	}
	client.RoundTripper = s
	s.client = client
	return s, nil
}

// newClient prepares connections to the server.
func newClient(cfg Config) (*soap.Client, error) {
	u, err := cfg.endpoint()
	if err != nil {
		return nil, &vsphere.Error{Kind: vsphere.KindSpec, Op: opConnect, Err: err}
	}
	tlsConfig, err := cfg.TLS.config()
	if err != nil {
		return nil, &vsphere.Error{Kind: vsphere.KindSpec, Op: opConnect, Err: err}
	}
	sc := soap.NewClient(u, false)
	sc.UserAgent = cfg.UserAgent
	// Both form the SOAPAction header. Without them it is "/", and vCenter's reaction to that is undocumented.
	sc.Namespace, sc.Version = "urn:"+vim25.Namespace, vim25.Version
	// The decision to trust the server applies only to this address. vCenter never redirects a call, and the target of a redirect would be trusted without any
	// check.
	sc.CheckRedirect = func(*http.Request, []*http.Request) error { return errRedirect }
	t := sc.DefaultTransport()
	// govmomi's own dialer ignores the context and would hang for minutes on an address that drops packets.
	t.DialTLSContext = nil
	t.TLSClientConfig = tlsConfig
	t.TLSHandshakeTimeout = dialTimeout
	t.MaxIdleConnsPerHost = idleConnections
	t.MaxResponseHeaderBytes = mostHeaders
	t.DisableCompression = true
	if cfg.Transport != nil {
		sc.Transport = cfg.Transport
	}
	sc.Transport = &bounded{next: sc.Transport, time: answerTime, pageBytes: cfg.PageBytes}
	return sc, nil
}

// identify adds a mark to a session with an identity, and returns the user agent.
func (s *Session) identify() string {
	if s.cfg.Identity.Process == nil {
		return s.cfg.UserAgent
	}
	number := s.cfg.Identity.Process.begin()
	m, ok := s.cfg.Identity.markOf(number)
	if !ok {
		return s.cfg.UserAgent
	}
	s.mark = &m
	return s.cfg.UserAgent + " " + m.String()
}

// forget records that the session is unused, so that its entry in vCenter is a leftover.
func (s *Session) forget() {
	if s.mark != nil {
		s.cfg.Identity.Process.end(s.mark.number)
	}
}

// Open is Dial followed by Login.
func Open(ctx context.Context, cfg Config) (*Session, error) {
	s, err := Dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := s.Login(ctx); err != nil {
		s.forget()
		s.soap.CloseIdleConnections()
		return nil, err
	}
	return s, nil
}

// Client returns govmomi's client. Its calls pass through the session.
func (s *Session) Client() *vim25.Client { return s.client }

// User returns the name of the account as the server spells it, for example VSPHERE.LOCAL\operator.
func (s *Session) User() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.user
}

// Generation counts logins. The next login closes changed: views and collectors have then ended.
func (s *Session) Generation() (generation uint64, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.generation, s.changed
}

// RoundTrip sends one call: see the package comment. Errors of the fence are *vsphere.Error of kind Fenced, and those of a refused login of kind Credentials.
// All others are govmomi's, and the caller must translate them.
func (s *Session) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	method := methodOf(req)
	ctx, cancel := s.withTimeout(ctx, method)
	defer cancel()
	if !repeatable[method] {
		return s.call(ctx, method, req, res)
	}
	return Repeat(ctx, func() error {
		reflect.ValueOf(res).Elem().SetZero() // it can contain a partial answer
		return s.call(ctx, method, req, res)
	})
}

// call sends one call, and repeats it after a lost login.
func (s *Session) call(ctx context.Context, method string, req, res soap.HasFault) error {
	seen, err := s.state()
	if err != nil {
		return err
	}
	err = s.send(ctx, method, req, res)
	if lost := err == nil && forStrangers(res) || fault.Is(err, &types.NotAuthenticated{}); !lost {
		return err
	}
	if err := s.relogin(ctx, seen); err != nil {
		return err
	}
	// Otherwise the first answer's fault would stay in res, and the repeated call would seem to fail.
	reflect.ValueOf(res).Elem().SetZero()
	return s.send(ctx, method, req, res)
}

// send checks the fence last, so that nothing lies between the check and the request.
func (s *Session) send(ctx context.Context, method string, req, res soap.HasFault) error {
	if !ReadOnly(method) {
		if err := vsphere.CheckFence(ctx); err != nil {
			s.count(method, err, 0)
			return err
		}
	}
	if operation := vsphere.OperationOf(ctx); operation != "" {
		ctx = context.WithValue(ctx, types.ID{}, operation)
	}
	err := metered{s}.RoundTrip(expect(ctx, res), req, res)
	s.listen(err)
	return err
}

func (s *Session) state() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, &vsphere.Error{Kind: vsphere.KindTransient, Op: "call vCenter", Err: errClosed}
	}
	return s.generation, nil
}

// withTimeout limits every call. A healthy vCenter answers changes at once, with a task. An unhealthy one must not hold its callers for the time of a long
// listing.
func (s *Session) withTimeout(ctx context.Context, method string) (context.Context, context.CancelFunc) {
	if !ReadOnly(method) {
		return context.WithTimeout(ctx, min(changeTimeout, orDefault(s.cfg.CallTimeout, defaultCallTimeout)))
	}
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, orDefault(s.cfg.CallTimeout, defaultCallTimeout))
}

// Login logs in when Config.Gate permits it, unless this session is logged in. An error of kind Credentials that is a *logins.Refused means that nothing was
// sent.
func (s *Session) Login(ctx context.Context) error { return s.relogin(ctx, 0) }

// relogin logs in unless another call did since generation seen.
func (s *Session) relogin(ctx context.Context, seen uint64) error {
	s.loginMu.Lock()
	defer s.loginMu.Unlock()

	s.mu.Lock()
	closed, generation := s.closed, s.generation
	s.mu.Unlock()
	switch {
	case closed:
		return &vsphere.Error{Kind: vsphere.KindTransient, Op: "log in", Err: errClosed}
	case generation != seen:
		return nil
	}

	ctx, cancel := s.withTimeout(ctx, "Login")
	defer cancel()
	user, key, err := s.tryLogin(ctx)
	if err != nil {
		return err
	}

	s.mu.Lock()
	s.generation++
	s.user, s.key = user, key
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	return nil
}

// tryLogin logs in when the gate permits it, and reports the result to the gate. It waits for a sent login even if its caller cancels: vCenter counts the login
// in any case, and a login with an unknown result counts as rejected.
func (s *Session) tryLogin(ctx context.Context) (user, key string, err error) {
	op := "log in as " + s.cfg.Username
	try, err := s.gate.Enter(ctx)
	var refused *logins.Refused
	switch {
	case errors.As(err, &refused):
		return "", "", &vsphere.Error{Kind: vsphere.KindCredentials, Op: op, Err: err}
	case err != nil:
		return "", "", &vsphere.Error{Kind: vsphere.KindTransient, Op: op, Err: err}
	}
	ctx = context.WithoutCancel(ctx)
	sent, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	user, key, err = s.login(sent)
	ended, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	outcome := outcomeOf(err)
	if refusal := try.End(ended, outcome); outcome == logins.Rejected {
		return "", "", &vsphere.Error{Kind: vsphere.KindCredentials, Op: op, Err: refusal}
	}
	if err != nil {
		return "", "", s.loginError(op, err)
	}
	return user, key, nil
}

// outcomeOf returns what the error of a login proves about its user name and password.
func outcomeOf(err error) logins.Outcome {
	switch {
	case err == nil:
		return logins.Accepted
	case fault.Is(err, &types.InvalidLogin{}):
		return logins.Rejected
	case IsFault(err) || IsCertificate(err) || notSent(err) || hasStatus(err):
		return logins.Failed
	}
	return logins.Unanswered
}

// notSent reports whether the connection failed before the request was sent.
func notSent(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial"
}

// hasStatus reports whether the answer was an HTTP status without SOAP: the URL in govmomi's error is then only the path.
func hasStatus(err error) bool {
	var status *url.Error
	return errors.As(err, &status) && strings.HasPrefix(status.URL, "/")
}

func (s *Session) login(ctx context.Context) (user, key string, err error) {
	manager := s.client.ServiceContent.SessionManager
	if manager == nil {
		return "", "", errors.New("the server has no session manager: it is no vCenter")
	}
	resp, err := methods.Login(ctx, metered{s}, &types.Login{
		This: *manager, UserName: s.cfg.Username, Password: s.cfg.Password, Locale: "en_US",
	})
	if err == nil {
		return resp.Returnval.UserName, resp.Returnval.Key, nil
	}
	if !fault.Is(err, &types.InvalidLogin{}) {
		return "", "", err
	}
	// vCenter returns InvalidLogin for a connection that is already logged in. Check this before blaming the password.
	if current, ok := s.current(ctx, *manager); ok {
		return current.UserName, current.Key, nil
	}
	return "", "", err
}

// current returns the login that the server sees on this connection. It requests nothing else, because an account can lack the privilege to see the sessions of
// others.
func (s *Session) current(ctx context.Context, manager types.ManagedObjectReference) (login types.UserSession, ok bool) {
	resp, err := methods.RetrievePropertiesEx(ctx, metered{s}, &types.RetrievePropertiesEx{
		This: s.client.ServiceContent.PropertyCollector,
		SpecSet: []types.PropertyFilterSpec{{
			ObjectSet: []types.ObjectSpec{{Obj: manager}},
			PropSet:   []types.PropertySpec{{Type: manager.Type, PathSet: []string{"currentSession"}}},
		}},
	})
	if err != nil || resp.Returnval == nil {
		return login, false
	}
	for _, object := range resp.Returnval.Objects {
		for _, property := range object.PropSet {
			login, ok = property.Val.(types.UserSession)
		}
	}
	return login, ok
}

func (s *Session) loginError(op string, err error) error {
	var noPermission *types.NoPermission
	if _, ok := fault.As(err, &noPermission); ok {
		return &vsphere.Error{Kind: vsphere.KindPermission, Op: op, Privilege: noPermission.PrivilegeId, Err: err}
	}
	return connectError(op, err)
}

// Disconnect closes unused connections. After an outage the server can have lost them, and a call on one would wait in vain.
func (s *Session) Disconnect() { s.soap.CloseIdleConnections() }

// Close logs out and closes the connections. The session cannot be used afterwards. Close sends at most one request, limited by ctx.
func (s *Session) Close(ctx context.Context) error {
	s.loginMu.Lock()
	defer s.loginMu.Unlock()
	s.mu.Lock()
	closed, loggedIn := s.closed, s.generation > 0
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	defer s.forget()
	defer s.soap.CloseIdleConnections()
	if !loggedIn {
		return nil
	}
	_, err := methods.Logout(ctx, metered{s}, &types.Logout{This: *s.client.ServiceContent.SessionManager})
	if err != nil && !fault.Is(err, &types.NotAuthenticated{}) {
		return fmt.Errorf("log out: %w", err)
	}
	return nil
}
