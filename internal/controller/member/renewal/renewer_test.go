package renewal

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

// issued is a token of a ServiceAccount. The time is its iat, in seconds since noon.
func issued(account string, second int) string {
	at := noon.Add(time.Duration(second) * time.Second).Unix()
	payload := fmt.Sprintf(`{"sub":"system:serviceaccount:ns:%s","iat":%d,"exp":%d}`, account, at, at+600)
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2ln"
}

// noted is a Link that passes the results on.
type noted struct{ results chan string }

func (n noted) Leading() bool                       { return true }
func (n noted) NoteRenewal(identity, failed string) { n.results <- identity + ": " + failed }

// member is an API server that issues tokens: it forbids the first request, and issues the token of another ServiceAccount, one that expires no later,
// and then a right one. It sends the authorization of each request.
func member(t *testing.T, authorizations chan<- string) *httptest.Server {
	t.Helper()
	var attempt atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		authorizations <- r.Header.Get("Authorization")
		request := authenticationv1.TokenRequest{}
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &request); err != nil || r.Method != http.MethodPost || r.URL.Path != "/api/v1/namespaces/ns/serviceaccounts/sa/token" ||
			*request.Spec.ExpirationSeconds != 3600 || request.Spec.BoundObjectRef.Name != credential.SessionSecret {
			t.Errorf("%s %s: %s", r.Method, r.URL.Path, body)
		}
		request.TypeMeta = metav1.TypeMeta{Kind: "TokenRequest", APIVersion: "authentication.k8s.io/v1"}
		switch attempt.Add(1) {
		case 1:
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonForbidden, Code: 403, Message: "no role"})
			return
		case 2:
			request.Status.Token = issued("other", 1)
		case 3:
			request.Status.Token = issued("sa", 0)
		default:
			request.Status.Token = issued("sa", 60)
		}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(request)
	}))
	t.Cleanup(server.Close)
	return server
}

// TestARenewalThatFailsSaysWhyAndIsRetried: the member does not issue a right token at first, and then the hub does not store it. The present token stays in
// use until a new one is stored.
func TestARenewalThatFailsSaysWhyAndIsRetried(t *testing.T) {
	authorizations := make(chan string, 1000)
	server := member(t, authorizations)
	token := remote.NewToken(issued("sa", 0))
	limits := remote.DefaultLimits()
	minute := remote.Timeouts{Dial: time.Minute, ResponseHeader: time.Minute, Answer: time.Minute, Request: time.Minute, PingInterval: time.Minute, Ping: time.Minute}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	api, err := remote.New(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}, TLSClientConfig: rest.TLSClientConfig{CAData: authority}}, token,
		remote.Bounds{Timeouts: minute, Guard: remote.NewGuard(limits, remote.NewPace(limits))}, new(shardingtest.Leader(true)))
	if err != nil {
		t.Fatal(err)
	}
	defer api.End()
	hub := fake.NewClientBuilder().Build()
	store := NewStore(hub, "operator")
	began := time.Now()
	link := noted{make(chan string, 1000)}
	r := New(Config{
		Member: "a", Lifetime: time.Hour, After: time.Second, Retry: wait.Backoff{Duration: time.Millisecond, Steps: 9}, Store: store, Link: link, Log: logr.Discard(),
		Now: func() time.Time { return noon.Add(2*time.Second + time.Since(began)) }, // the first token is due, and the second is not
	})
	end := r.Keep(t.Context(), Identity{Name: credential.Member, Token: token, Fingerprint: "f", API: api})
	defer end()
	for _, want := range []string{"answers: no role", "another ServiceAccount", "does not live longer", "The hub does not store the new token"} {
		if got := <-link.results; !strings.HasPrefix(got, "member: ") || !strings.Contains(got, want) {
			t.Errorf("the result is %q, want %q", got, want)
		}
		if sent := <-authorizations; sent != "Bearer "+issued("sa", 0) {
			t.Errorf("the request has %q", sent)
		}
		if strings.Contains(want, "does not live longer") {
			if token.Value() != issued("sa", 0) {
				t.Error("a token is used that is not stored")
			}
		}
	}
	for _, secret := range empty() {
		if err := hub.Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	for got := range link.results {
		if got == "member: " {
			break
		}
	}
	if stored, err := store.Get(t.Context(), "a", credential.Member, "f"); err != nil || stored != issued("sa", 60) || token.Value() != stored {
		t.Errorf("stored is %q, used is %q, error %v", stored, token.Value(), err)
	}
}
