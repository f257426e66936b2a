//go:build unix && slow

package admission

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

const (
	callEvery  = 10 * time.Millisecond
	probeEvery = 50 * time.Millisecond
	// freshEvery is the interval in which an API server is forced to open new connections. It keeps the old ones for a
	// minute and a half, and the balancer must not run out of file descriptors.
	freshEvery = 2 * time.Second
	// shown is the maximum number of failures in the report, from the first to the last.
	shown = 8
	// sources is the maximum number of calls in flight.
	sources = 6
	// pulseEvery is the interval in which the load records that it runs. If it did not run for the share starved of a
	// call, a timeout of that call is ignored. API servers give webhooks 2 and 3 seconds, in which the replicas
	// possibly did not run either.
	pulseEvery, starved = 20 * time.Millisecond, 500 * time.Millisecond
)

// load calls webhooks continuously in three ways. Every 10 ms, each member gets a dry-run create, for which its API
// server calls the hub. API servers keep their connections, and would not notice a wrong certificate for minutes. So
// each also calls the hub under a configuration of the test, which changes constantly and forces new connections. And a
// client with the member's trusted CAs makes TLS handshakes with each replica.
type load struct {
	t    *testing.T
	end  context.CancelFunc
	wait sync.WaitGroup

	mu         sync.Mutex
	made       map[string]int
	handshakes int
	failures   []string
	// unheard are calls that timed out while the machine was busy with other work.
	unheard int
	// beat is the last pulse, and missed the time without due pulses.
	beat   time.Time
	missed time.Duration
}

// loads counts the loads, for namespace names: deleted namespaces stay for a while.
var loads int

// startLoad begins, and fails the test if a call failed before stop.
func startLoad(t *testing.T) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{t: t, end: cancel, made: map[string]int{}, beat: time.Now()}
	l.wait.Go(func() { every(ctx, pulseEvery, l.pulse) })
	loads++
	for member := range world.Members {
		p := newPlace(t, member, fmt.Sprintf("load-%d", loads), nil)
		p.untilAllSay("", p.group("never", 1)) // a replica that has just started possibly does not know the member yet
		await.Until(t, "VmGroups to be served", func(ctx context.Context) (bool, error) {
			err := p.Create(ctx, p.group("never", 1), client.DryRunAll)
			return err == nil, err
		})
		l.connectAnew(ctx, p)
		requests := make(chan struct{}, sources)
		for range sources {
			l.wait.Go(func() {
				for range requests {
					l.call(ctx, p)
				}
			})
		}
		l.wait.Go(func() {
			defer close(requests)
			every(ctx, callEvery, func() {
				select {
				case requests <- struct{}{}:
				default: // all sources are busy
				}
			})
		})
		l.wait.Go(func() { every(ctx, probeEvery, func() { l.shakeHands(ctx, p) }) })
	}
	t.Cleanup(l.stop)
	l.untilMore(map[string]int{}, 20)
	return l
}

// stop ends the load and reports the failures. It can be called again.
func (l *load) stop() {
	l.end()
	l.wait.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t.Logf("%v calls and %d handshakes, %d failed, %d were not heard for want of a machine", l.made, l.handshakes, len(l.failures), l.unheard)
	for i := 0; i < len(l.failures); i += max(len(l.failures)/shown, 1) {
		l.t.Errorf("failure %d of %d: %s", i+1, len(l.failures), l.failures[i])
	}
	l.failures = nil
}

// call creates a group as a dry run. The hub is asked about it four times, and nothing is stored.
func (l *load) call(ctx context.Context, p *place) {
	began, missed := time.Now(), l.lost()
	err := p.Create(ctx, p.group("never", 1), client.DryRunAll)
	if isTimeout(err) && l.lost()-missed > starved {
		l.mu.Lock()
		l.unheard++
		l.mu.Unlock()
		return
	}
	l.record(ctx, func() { l.made[p.member]++ }, err, "create in "+p.member, began)
}

// isTimeout reports whether an API server's call of a webhook timed out.
func isTimeout(err error) bool {
	return err != nil && strings.Contains(err.Error(), "failed calling webhook") && strings.Contains(err.Error(), context.DeadlineExceeded.Error())
}

func (l *load) pulse() {
	missed := l.lost()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missed, l.beat = missed, time.Now()
}

// lost is the total time in which the load has not run.
func (l *load) lost() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.missed + max(0, time.Since(l.beat)-2*pulseEvery)
}

// shakeHands connects to each replica like a member that has just read the CA bundle.
func (l *load) shakeHands(ctx context.Context, p *place) {
	hook, err := operatorsWebhook(ctx, p.Cluster)
	if err != nil {
		l.record(ctx, func() {}, err, "read the bundle of "+p.member, time.Now())
		return
	}
	for _, r := range world.Replicas {
		began := time.Now()
		_, err := peer(ctx, r, hook.ClientConfig.CABundle)
		if refused := new(tls.CertificateVerificationError); err != nil && !errors.As(err, &refused) {
			continue // it is restarting; calls go to the other one
		}
		l.record(ctx, func() { l.handshakes++ }, err, "handshake of "+p.member+" with "+r.Name, began)
	}
}

// record counts a call unless the load has ended.
func (l *load) record(ctx context.Context, count func(), err error, what string, began time.Time) {
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	count()
	if err != nil {
		l.failures = append(l.failures, fmt.Sprintf("%s at %s, after %s: %v", what, began.Format("15:04:05.000"), time.Since(began), err))
	}
}

// calls returns the number of calls of each member.
func (l *load) calls() map[string]int { return l.since(map[string]int{}) }

func (l *load) since(before map[string]int) map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]int{}
	for member := range world.Members {
		all[member] = l.made[member] - before[member]
	}
	return all
}

// untilMore waits until each member has made this many more calls.
func (l *load) untilMore(before map[string]int, calls int) {
	l.t.Helper()
	await.Until(l.t, fmt.Sprintf("%d more calls in each member", calls), func(context.Context) (bool, error) {
		for _, made := range l.since(before) {
			if made < calls {
				return false, nil
			}
		}
		return true, nil
	})
}

// connectAnew makes the API server of the member call the hub under a configuration whose bundle changes constantly: it
// is the operator's, with a growing number of blank lines. An API server keeps separate connections for each bundle.
func (l *load) connectAnew(ctx context.Context, p *place) {
	l.t.Helper()
	own := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "connects-anew"}}
	next := func(lines int) error {
		hook, err := operatorsWebhook(ctx, p.Cluster)
		if err != nil {
			return err
		}
		hook.Name, hook.MatchConditions = "connects.anew.example", nil
		hook.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": p.namespace}}
		hook.FailurePolicy = ptr.To(admissionregistrationv1.Fail)
		hook.ClientConfig.CABundle = append(bytes.TrimSpace(hook.ClientConfig.CABundle), bytes.Repeat([]byte("\n"), lines)...)
		own.Webhooks = []admissionregistrationv1.ValidatingWebhook{*hook}
		if own.ResourceVersion == "" {
			return p.Create(ctx, own)
		}
		return p.Update(ctx, own)
	}
	if err := next(1); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.Delete(ctx, own); err != nil {
			l.t.Error(err)
		}
	})
	lines := 1
	l.wait.Go(func() {
		every(ctx, freshEvery, func() {
			lines++
			if err := next(lines); err != nil {
				l.record(ctx, func() {}, err, "write a new configuration in "+p.member, time.Now())
			}
		})
	})
}

// peer makes a TLS handshake with a replica and returns its certificate. Without a bundle, it accepts any.
func peer(ctx context.Context, r *stack.Replica, bundle []byte) (*x509.Certificate, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	dialer := &tls.Dialer{Config: &tls.Config{
		RootCAs: roots, MinVersion: tls.VersionTLS12, InsecureSkipVerify: bundle == nil, // without a bundle, it only reads the certificate
	}}
	conn, err := dialer.DialContext(ctx, "tcp", r.WebhookAddress())
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// shownBy is the fingerprint of a replica's certificate.
func shownBy(ctx context.Context, r *stack.Replica) (string, error) {
	certificate, err := peer(ctx, r, nil)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(certificate.Raw)
	return hex.EncodeToString(sum[:]), nil
}
