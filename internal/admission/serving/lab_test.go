package serving

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust/trusttest"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

const (
	namespace = "operator"
	// patience is the timeout of all waits; a loaded machine with the race detector is slow.
	patience = 2 * time.Minute
	pause    = 3 * time.Millisecond
)

var shortLimits = trust.Limits{Settle: 200 * time.Millisecond, Overlap: 300 * time.Millisecond, Lost: 600 * time.Millisecond}

// lab is a hub with replicas that serve TLS, and members that call them all the time, each with a new connection.
type lab struct {
	t   *testing.T
	hub client.Client
	// naive replicas serve the certificate in their files, and members trust its authority only.
	naive bool

	mu       sync.Mutex
	replicas map[string]*labReplica
	pools    map[string]*x509.CertPool
	calls    int
	failures []error
	next     int
}

type labReplica struct {
	name    string
	dir     string
	keeper  *Keeper
	rotator *trust.Rotator
	server  *httptest.Server
	stop    func()
}

func newLab(t *testing.T, naive bool, members ...string) *lab {
	t.Helper()
	scheme := allkinds.Scheme()
	l := &lab{
		t: t, naive: naive, replicas: map[string]*labReplica{}, pools: map[string]*x509.CertPool{},
		hub: fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.MemberCluster{}).Build(),
	}
	for _, name := range members {
		member := &v1alpha1.MemberCluster{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       v1alpha1.MemberClusterSpec{Admission: &v1alpha1.MemberAdmission{URL: "https://hub.example"}},
		}
		if err := l.hub.Create(t.Context(), member); err != nil {
			t.Fatal(err)
		}
		member.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Engaged", LastTransitionTime: metav1.Now()}}
		if err := l.hub.Status().Update(t.Context(), member); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// pki is what cert-manager has issued.
type pki struct{ authority, certificate, key []byte }

func issue(t *testing.T) pki {
	t.Helper()
	// A little in the past: certificates of the real cert-manager are also seconds old when they arrive.
	began, ends := time.Now().Add(-2*time.Second), time.Now().Add(time.Hour)
	authority := trusttest.NewAuthority(t, began, ends)
	certificate, key := authority.Issue(t, began, ends)
	return pki{authority: authority.PEM, certificate: certificate, key: key}
}

// write puts the files into a directory as kubelet does: a new directory, and a link that is swapped.
func (p pki) write(t *testing.T, dir string) {
	t.Helper()
	data, err := os.MkdirTemp(dir, "..")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{CertificateFile: p.certificate, KeyFile: p.key, AuthorityFile: p.authority} {
		if err := os.WriteFile(filepath.Join(data, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(dir, name)
		if _, err := os.Lstat(link); err != nil {
			if err := os.Symlink(filepath.Join(dataLink, name), link); err != nil {
				t.Fatal(err)
			}
		}
	}
	swap := filepath.Join(dir, "..data_tmp")
	before, _ := filepath.EvalSymlinks(filepath.Join(dir, dataLink))
	if err := os.Symlink(filepath.Base(data), swap); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(swap, filepath.Join(dir, dataLink)); err != nil {
		t.Fatal(err)
	}
	if before != "" {
		if err := os.RemoveAll(before); err != nil {
			t.Fatal(err)
		}
	}
}

// start runs a replica on the files in dir. The one with the lowest name leads.
func (l *lab) start(name, dir string) *labReplica {
	l.t.Helper()
	ctx, cancel := context.WithCancel(l.t.Context())
	r := &labReplica{name: name, dir: dir}
	r.keeper = New(Options{Dir: dir, Poll: 10 * time.Millisecond, Now: time.Now, Log: logr.Discard()})
	r.rotator = trust.NewRotator(trust.Options{
		Namespace: namespace, Client: l.hub, Leader: labLeader{l, name}, Certificates: r.keeper, Peers: l,
		Random: rand.Reader, Now: time.Now, Limits: shortLimits, Resync: 20 * time.Millisecond, Log: logr.Discard(),
	})
	r.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	certificate := r.keeper.GetCertificate
	if l.naive {
		certificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return r.keeper.Offer().Leaf.TLS, nil }
	}
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	r.server.Listener = tls.NewListener(r.server.Listener, &tls.Config{GetCertificate: certificate, MinVersion: tls.VersionTLS12})
	r.server.Start()
	var running sync.WaitGroup
	running.Go(func() { _ = r.keeper.Run(ctx, r.rotator.Changed) })
	running.Go(func() { _ = r.rotator.Run(ctx) })
	r.stop = func() {
		cancel()
		running.Wait()
		r.server.Close()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replicas[name] = r
	return r
}

// end takes a replica out of service and ends it.
func (l *lab) end(r *labReplica) {
	l.mu.Lock()
	delete(l.replicas, r.name)
	l.mu.Unlock()
	r.stop()
}

// labLeader leads while its name is the first one.
type labLeader struct {
	*lab
	name string
}

func (l labLeader) Leading() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := slices.Sorted(maps.Keys(l.replicas))
	return len(names) > 0 && names[0] == l.name
}

// Replicas implements trust.Peers.
func (l *lab) Replicas() []trust.Replica {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]trust.Replica, 0, len(l.replicas))
	for _, name := range slices.Sorted(maps.Keys(l.replicas)) {
		all = append(all, trust.Replica{Process: name, Serving: trust.ParseServing(l.replicas[name].keeper.Published())})
	}
	return all
}

// pick returns the replicas that take calls, as a load balancer with readiness checks does.
func (l *lab) pick() *labReplica {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ready []*labReplica
	for _, name := range slices.Sorted(maps.Keys(l.replicas)) {
		if r := l.replicas[name]; l.naive || r.keeper.Check(nil) == nil {
			ready = append(ready, r)
		}
	}
	if len(ready) == 0 {
		return nil
	}
	l.next++
	return ready[l.next%len(ready)]
}

// call makes one handshake as the API server of a member. A replica can be taken out of service meanwhile: then another
// one is picked, as with any balancer.
func (l *lab) call(ctx context.Context, member string) {
	for ctx.Err() == nil {
		began := time.Now()
		r := l.pick()
		l.mu.Lock()
		pool := l.pools[member]
		l.mu.Unlock()
		if r == nil || pool == nil {
			return
		}
		dialer := tls.Dialer{Config: &tls.Config{RootCAs: pool, ServerName: trusttest.Name, MinVersion: tls.VersionTLS12}}
		connection, err := dialer.DialContext(ctx, "tcp", r.server.Listener.Addr().String())
		if err == nil {
			_ = connection.Close()
		}
		gone := errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET)
		// Before anything else is served, the members must trust it, and Settle passes for calls in progress. A call that
		// took longer, because this process did not run meanwhile, used the member's earlier trust.
		late := err != nil && !l.naive && time.Since(began) > shortLimits.Settle
		if ctx.Err() != nil || late || gone && !l.serves(r) {
			continue
		}
		l.mu.Lock()
		l.calls++
		if err != nil {
			l.failures = append(l.failures, err)
		}
		l.mu.Unlock()
		return
	}
}

// serves reports whether a replica is still in service.
func (l *lab) serves(r *labReplica) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.replicas[r.name] == r
}

// tend does the member controller's work for a member, with a delay between push and acknowledgement.
func (l *lab) tend(ctx context.Context, member string) error {
	var bundle []byte
	l.mu.Lock()
	for _, r := range l.replicas {
		if l.naive {
			bundle = trust.EncodeAuthorities(r.keeper.Offer().Authorities)
		} else if own, ok := r.rotator.Bundle(); ok && slices.Min(slices.Collect(maps.Keys(l.replicas))) == r.name {
			bundle = own
		}
	}
	l.mu.Unlock()
	if len(bundle) == 0 {
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bundle) {
		return fmt.Errorf("%s was given a bundle without certificates: %q", member, bundle)
	}
	l.mu.Lock()
	l.pools[member] = pool
	l.mu.Unlock()
	var object v1alpha1.MemberCluster
	if err := l.hub.Get(ctx, client.ObjectKey{Name: member}, &object); err != nil {
		return err
	}
	if hash := trust.BundleHash(trust.ParseAuthorities(bundle)); object.Status.CABundleHash != hash {
		object.Status.CABundleHash = hash
		return l.hub.Status().Update(ctx, &object)
	}
	return nil
}

// every calls f until ctx ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f()
		}
	}
}

// await fails unless check holds in time.
func (l *lab) await(what string, check func() bool) {
	l.t.Helper()
	await.True(l.t, what, check, func() string {
		var all strings.Builder
		for name, r := range l.replicas {
			fmt.Fprintf(&all, "%s: serves %s, waits: %s, behind: %v\n", name, r.keeper.Published(), r.rotator.Waiting(), r.rotator.Behind())
		}
		return all.String()
	})
}
