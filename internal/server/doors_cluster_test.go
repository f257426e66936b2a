//go:build unix && !fast

package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust/trusttest"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/internal/webhook"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// exposed is the port that members reach, of a replica that has many members.
type exposed struct {
	t            *testing.T
	url          string
	client       *http.Transport
	certificates *trust.Rotator
}

// noCertificates is the state of a replica without certificate files that has seen no other replica.
type noCertificates struct{}

func (noCertificates) Offer() trust.Offer         { return trust.Offer{} }
func (noCertificates) SetState(map[string][]byte) {}
func (noCertificates) Replicas() []trust.Replica  { return nil }

const exposedMembers = 200

func expose(t *testing.T) *exposed {
	t.Helper()
	objects := make([]client.Object, 0, exposedMembers)
	for i := range exposedMembers {
		objects = append(objects, &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("team-%03d", i), UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)), Annotations: map[string]string{"a": strings.Repeat("b", 4096)},
		}})
	}
	hub := clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithObjects(objects...).Build()
	e := &exposed{t: t}
	e.certificates = trust.NewRotator(trust.Options{
		Namespace: "operator", Client: hub, Leader: new(shardingtest.Leader(true)), Certificates: noCertificates{}, Peers: noCertificates{},
		Random: rand.Reader, Now: time.Now,
		Limits: trust.DefaultLimits(), Period: trust.DefaultPeriod, Resync: time.Hour, Log: logr.Discard(),
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- e.certificates.Run(ctx) }()
	doors, err := webhook.New(webhook.Options{
		Knowledge: struct{ webhook.Knowledge }{}, Segments: e.certificates, Hub: hub, Log: logr.Discard(), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	authority := trusttest.NewAuthority(t, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	pair, err := tls.X509KeyPair(authority.Issue(t, time.Now().Add(-time.Hour), time.Now().Add(time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	certificate := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := door(listener, memberConnections, "members", certificate, &Leaving{}, logr.Discard(), doors.Members)
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, <-ended); err != nil {
			t.Error(err)
		}
	})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM)
	e.url, e.client = "https://"+server.Listener.Addr().String(), &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	await.NoError(t, "the port to know a member", func() error {
		e.certificates.Changed()
		segment, _, ok := e.certificates.Segment("team-000", "00000000-0000-4000-8000-000000000000", false)
		if !ok || !e.certificates.Knows("team-000", segment) {
			return errors.New("it does not")
		}
		return nil
	})
	return e
}

// call returns the duration of an answer, and the answer without its date. Each call makes a connection, as the answer requests.
func (e *exposed) call(path string, body []byte) (time.Duration, string) {
	e.t.Helper()
	begun := time.Now()
	request, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, e.url+path, bytes.NewReader(body))
	if err != nil {
		e.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := e.client.RoundTrip(request)
	if err != nil {
		e.t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	took := time.Since(begun)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		e.t.Fatal(err)
	}
	response.Header.Del("Date")
	return took, fmt.Sprintf("%s %v close=%v %q", response.Status, response.Header, response.Close, text)
}

// areaUnderTheCurve is the chance that a time of the first kind is longer than one of the second: 0.5 if the times reveal nothing.
func areaUnderTheCurve(first, second []time.Duration) float64 {
	slices.Sort(second)
	sum := 0.0
	for _, took := range first {
		below, _ := slices.BinarySearch(second, took)
		upTo, _ := slices.BinarySearch(second, took+1)
		sum += float64(below) + float64(upTo-below)/2
	}
	return sum / float64(len(first)) / float64(len(second))
}

// rank sends calls of two kinds in a random order.
func (e *exposed) rank(calls int, kinds [2]func(i int) string) float64 {
	e.t.Helper()
	body := []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`)
	_, want := e.call("/", body)
	var took [2][]time.Duration
	for i := range calls / 2 {
		for _, kind := range mathrand.Perm(2) {
			d, answer := e.call(kinds[kind](i), body)
			if answer != want {
				e.t.Fatalf("%s: %s\nwant %s", kinds[kind](i), answer, want)
			}
			took[kind] = append(took[kind], d)
		}
	}
	return areaUnderTheCurve(took[0], took[1])
}

// TestTimesTellNothingToWhoKnowsNoSegment: of 2,000 calls, chance decides which kind takes longer. The bound is four times the standard
// deviation of that; chance exceeds it in one try of 10,000, so a second try and a third one decide.
func TestTimesTellNothingToWhoKnowsNoSegment(t *testing.T) {
	e := expose(t)
	guess := func(i int) string { return fmt.Sprintf("%032x", i) }
	member := func(i int) string { return webhook.ValidatePath(fmt.Sprintf("team-%03d", i%exposedMembers), guess(i)) }
	stranger := func(i int) string { return webhook.ValidatePath(fmt.Sprintf("other-%03d", i%exposedMembers), guess(i)) }
	hub := func(i int) string {
		return []string{webhook.VCenterPath, webhook.MemberClusterPath, webhook.VmGroupPolicyPath}[i%3]
	}
	nothing := func(i int) string { return "/nothing/" + guess(i) }
	for name, kinds := range map[string][2]func(int) string{
		"a member or no member":               {member, stranger},
		"a wrong segment or a path of no use": {member, nothing},
		"a path of the hub's or of no use":    {hub, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			e.t = t
			tries := make([]float64, 0, 3)
			for range cap(tries) {
				area := e.rank(2000, kinds)
				if area >= 0.45 && area <= 0.55 {
					t.Logf("area under the curve %.3f", area)
					return
				}
				tries = append(tries, area)
			}
			t.Errorf("the area under the curve is %.3f: times tell the one from the other", tries)
		})
	}
}

func TestTheAreaUnderTheCurve(t *testing.T) {
	all := func(times ...time.Duration) []time.Duration { return times }
	for _, c := range []struct {
		first, second []time.Duration
		want          float64
	}{
		{all(1, 2, 3), all(1, 2, 3), 0.5}, {all(4, 5), all(3, 1, 2), 1}, {all(0), all(3, 1, 2), 0}, {all(2), all(1, 3), 0.5}, {all(2, 4), all(1, 3), 0.75},
	} {
		if got := areaUnderTheCurve(c.first, c.second); got != c.want {
			t.Errorf("%v against %v: %v, want %v", c.first, c.second, got, c.want)
		}
	}
}
