package session_test

import (
	"context"
	"crypto/sha1" //nolint:gosec // what is tested
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// TestMain keeps the simulator's own log out of the tests' output.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}

func start(t *testing.T, o sim.Options) (*sim.Simulator, *sim.Proxy) {
	t.Helper()
	s, err := sim.Start(o)
	must(t, err)
	t.Cleanup(s.Close)
	p, err := sim.NewProxy(s.URL)
	must(t, err)
	t.Cleanup(p.Close)
	return s, p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func config(url string) session.Config {
	return session.Config{URL: url, Username: "user", Password: "pass", UserAgent: "test-agent"}
}

// serverTime is a read that needs a login.
func serverTime(ctx context.Context, s *session.Session) error {
	req := &types.CurrentTime{This: types.ManagedObjectReference{Type: "ServiceInstance", Value: "ServiceInstance"}}
	_, err := methods.CurrentTime(ctx, s.Client(), req)
	return err
}

func TestLoginAndLogout(t *testing.T) {
	sm, proxy := start(t, sim.Options{})
	ctx := context.Background()
	s, err := session.Open(ctx, config(proxy.URL))
	must(t, err)
	must(t, serverTime(ctx, s))
	if s.User() != "user" {
		t.Errorf("user is %q", s.User())
	}
	n, err := sm.Sessions(ctx)
	must(t, err)
	if n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
	must(t, s.Close(ctx))
	must(t, s.Close(ctx))
	n, err = sm.Sessions(ctx)
	must(t, err)
	if n != 0 {
		t.Errorf("%d sessions are left", n)
	}
	if err := serverTime(ctx, s); vsphere.KindOf(err) != vsphere.KindTransient {
		t.Errorf("call on a closed session: %v", err)
	}
	if n := proxy.Count("Login", "test-agent"); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
}

func TestManyCallsRenewALostLoginOnce(t *testing.T) {
	sm, proxy := start(t, sim.Options{})
	ctx := context.Background()
	s, err := session.Open(ctx, config(proxy.URL))
	must(t, err)
	t.Cleanup(func() { must(t, s.Close(ctx)) })
	before, changed := s.Generation()
	person, err := sm.Operator(ctx)
	must(t, err)
	defer person.Close()
	_, err = person.TerminateSessions(ctx)
	must(t, err)

	const callers = 32
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { errs[i] = serverTime(ctx, s) })
	}
	wg.Wait()
	must(t, errors.Join(errs...))
	if n := proxy.Count("Login", "test-agent"); n != 2 {
		t.Errorf("%d logins, want 2", n)
	}
	select {
	case <-changed:
	default:
		t.Error("the change of the login was not reported")
	}
	if after, _ := s.Generation(); after != before+1 {
		t.Errorf("generation went from %d to %d", before, after)
	}
}

func TestWrongPasswordIsNotTriedAgain(t *testing.T) {
	_, proxy := start(t, sim.Options{})
	cfg := config(proxy.URL)
	cfg.Password = "s3cret"
	s, err := session.Dial(context.Background(), cfg)
	must(t, err)
	for range 20 {
		err := s.Login(context.Background())
		if vsphere.KindOf(err) != vsphere.KindCredentials || strings.Contains(err.Error(), "s3cret") {
			t.Fatalf("login: %v", err)
		}
	}
	if n := proxy.Count("Login", "test-agent"); n != 1 {
		t.Errorf("%d login attempts, want 1", n)
	}
}

func TestAnUnfencedChangeIsNotSent(t *testing.T) {
	_, proxy := start(t, sim.Options{})
	ctx := context.Background()
	s, err := session.Open(ctx, config(proxy.URL))
	must(t, err)
	t.Cleanup(func() { must(t, s.Close(ctx)) })
	root := s.Client().ServiceContent.RootFolder
	create := func(ctx context.Context) error {
		_, err := methods.CreateFolder(ctx, s.Client(), &types.CreateFolder{This: root, Name: "x"})
		return err
	}
	if err := create(ctx); vsphere.KindOf(err) != vsphere.KindFenced {
		t.Errorf("without a fence: %v", err)
	}
	no := errors.New("no")
	if err := create(vsphere.WithFence(ctx, func() error { return no })); vsphere.KindOf(err) != vsphere.KindFenced || !errors.Is(err, no) {
		t.Errorf("fence says no: %v", err)
	}
	if n := proxy.Count("CreateFolder", ""); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	must(t, create(vsphere.WithFence(ctx, func() error { return nil })))
}

func TestTheFenceIsAskedAgainAfterARenewal(t *testing.T) {
	sm, proxy := start(t, sim.Options{})
	ctx := context.Background()
	s, err := session.Open(ctx, config(proxy.URL))
	must(t, err)
	t.Cleanup(func() { must(t, s.Close(ctx)) })
	person, err := sm.Operator(ctx)
	must(t, err)
	defer person.Close()
	_, err = person.TerminateSessions(ctx)
	must(t, err)
	var asked atomic.Int32
	fence := func() error {
		if asked.Add(1) > 1 {
			return errors.New("lost meanwhile")
		}
		return nil
	}
	_, err = methods.CreateFolder(vsphere.WithFence(ctx, fence), s.Client(),
		&types.CreateFolder{This: s.Client().ServiceContent.RootFolder, Name: "x"})
	if vsphere.KindOf(err) != vsphere.KindFenced {
		t.Errorf("error is %v", err)
	}
}

func TestCallsHaveADeadline(t *testing.T) {
	_, proxy := start(t, sim.Options{})
	s, err := session.Open(context.Background(), config(proxy.URL))
	must(t, err)
	session.SetCallTimeout(s, 50*time.Millisecond) // not before: the login would time out
	release := make(chan struct{})
	defer close(release)
	proxy.Hook(func(sim.Call) faultproxy.Fault { <-release; return faultproxy.Fault{Act: faultproxy.CutBefore} })
	if err := serverTime(context.Background(), s); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
}

func TestTLS(t *testing.T) {
	sm, err := sim.Start(sim.Options{TLS: true})
	must(t, err)
	t.Cleanup(sm.Close)
	other, err := os.ReadFile("testdata/other-ca.pem")
	must(t, err)
	block, _ := pem.Decode(sm.CA)
	one, two := sha1.Sum(block.Bytes), sha256.Sum256(block.Bytes) //nolint:gosec // what is tested
	colons := func(s string) string {
		var b strings.Builder
		for i := 0; i < len(s); i += 2 {
			if i > 0 {
				b.WriteByte(':')
			}
			b.WriteString(strings.ToUpper(s[i : i+2]))
		}
		return b.String()
	}
	for _, test := range []struct {
		name string
		tls  session.TLS
		// kind of the error, none on success. Unreadable settings distrust no server.
		kind vsphere.Kind
	}{
		{"the system's authorities do not know it", session.TLS{}, vsphere.KindCertificate},
		{"authority", session.TLS{CABundle: sm.CA}, ""},
		{"another authority", session.TLS{CABundle: other}, vsphere.KindCertificate},
		{"no certificate in the bundle", session.TLS{CABundle: []byte("hello")}, vsphere.KindSpec},
		{"SHA-1", session.TLS{Thumbprint: colons(hex.EncodeToString(one[:]))}, ""},
		{"SHA-256", session.TLS{Thumbprint: hex.EncodeToString(two[:])}, ""},
		{"another thumbprint", session.TLS{Thumbprint: strings.Repeat("00:", 19) + "00"}, vsphere.KindCertificate},
		{"no thumbprint", session.TLS{Thumbprint: "abc"}, vsphere.KindSpec},
		{"insecure", session.TLS{Insecure: true}, ""},
		{"two at once", session.TLS{Insecure: true, CABundle: sm.CA}, vsphere.KindSpec},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := config(sm.URL)
			cfg.TLS = test.tls
			s, err := session.Open(context.Background(), cfg)
			if test.kind == "" {
				must(t, err)
				must(t, s.Close(context.Background()))
			} else if vsphere.KindOf(err) != test.kind {
				t.Errorf("error %v is of kind %s", err, vsphere.KindOf(err))
			}
		})
	}
}

func TestURLs(t *testing.T) {
	for _, url := range []string{"", "https://user:s3cret@vc", "ftp://vc", "https://", "https://vc:s3cret%zz/"} {
		_, err := session.Dial(context.Background(), session.Config{URL: url})
		if vsphere.KindOf(err) != vsphere.KindSpec || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// TestLoginWhileLoggedIn shows the response that looks like a wrong password. The account cannot
// see the sessions of others.
func TestLoginWhileLoggedIn(t *testing.T) {
	_, proxy := start(t, sim.Options{Privileges: []string{}})
	ctx := context.Background()
	cfg := config(proxy.URL)
	s, err := session.Open(ctx, cfg)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close(ctx)) })
	// The body of a login's reply is lost, and the cookie in its header is not: the next login uses a connection that is logged in.
	must(t, session.LoginAgain(ctx, s))
	if n := proxy.Count("Login", "test-agent"); n != 2 {
		t.Errorf("%d logins, want 2", n)
	}
}
