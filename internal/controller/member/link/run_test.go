//go:build unix

package link

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// fakeMember answers the requests of a connection to an API server without groups.
type fakeMember struct {
	t *testing.T

	mu       sync.Mutex
	uid      string
	claim    string // "" if there is none
	silent   bool
	revision int
}

func (f *fakeMember) change(change func(*fakeMember)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeMember) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	uid, claim, silent, revision := f.uid, f.claim, f.silent, f.revision
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	lists := map[string]string{
		"/apis/" + v1alpha1.GroupVersion.String() + "/vmgroups": `{"kind":"VmGroupList","apiVersion":"` + v1alpha1.GroupVersion.String() + `"`,
		"/api/v1/namespaces": `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1"`,
	}
	list := lists[r.URL.Path]
	switch {
	case silent:
		w.WriteHeader(http.StatusServiceUnavailable)
	case list != "" && r.URL.Query().Get("sendInitialEvents") != "":
		w.WriteHeader(http.StatusUnprocessableEntity) // it cannot send a list as a watch
	case list != "" && r.URL.Query().Get("watch") != "":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case list != "":
		_, _ = fmt.Fprintf(w, `%s,"metadata":{"resourceVersion":"%d"},"items":[]}`, list, revision)
	case r.URL.Path == "/version":
		_, _ = io.WriteString(w, `{"major":"1","minor":"36","gitVersion":"v1.36.0"}`)
	case strings.HasSuffix(r.URL.Path, "/namespaces/kube-system"):
		_, _ = fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":%q}}`, uid)
	case strings.HasSuffix(r.URL.Path, "/configmaps/"+install.ClaimName) && claim != "":
		_, _ = fmt.Fprintf(w, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"kube-system","name":%q},"data":{"installation":%q}}`, install.ClaimName, claim)
	case strings.HasSuffix(r.URL.Path, "/customresourcedefinitions/"+crd.VmGroupName):
		installed := crd.VmGroupCRD()
		installed.APIVersion, installed.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
		installed.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
			{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}, {Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue},
		}
		if err := json.NewEncoder(w).Encode(installed); err != nil {
			f.t.Error(err)
		}
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	}
}

// nobody watches members.
type nobody struct{}

func (nobody) Engage(context.Context, multicluster.ClusterName, cluster.Cluster) error { return nil }

// startedProvider connects often. Its test fails if a connection enters a state that must not follow its previous one.
func startedProvider(t *testing.T, known *fleet.Fleet) *Provider {
	t.Helper()
	p, err := NewProvider(settings.Options{Namespace: "operator", InstallationUID: "one", Fleet: known, Timings: settings.Timings{
		BackoffMin: 10 * time.Millisecond, BackoffMax: 50 * time.Millisecond, Await: 20 * time.Millisecond, Recheck: 20 * time.Millisecond,
		HealthInterval: 20 * time.Millisecond, Revision: time.Millisecond, HealthTimeout: time.Minute, Request: time.Minute,
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.log = funcr.New(func(_, args string) {
		if strings.Contains(args, Unexpected) {
			t.Error(args)
		}
	}, funcr.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Start(ctx, nobody{}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return p
}

// inFleet checks the fleet's state of the member; the zero value is a member that is not engaged.
func inFleet(t *testing.T, known *fleet.Fleet, want fleet.Member) {
	t.Helper()
	if m, _ := known.Member("alpha"); m.UID != want.UID || m.State != want.State || m.Silent != want.Silent {
		t.Errorf("the fleet has %+v, want %+v", m, want)
	}
}

func serving(t *testing.T, p *Provider) cluster.Cluster {
	t.Helper()
	cl, err := p.Get(t.Context(), "alpha")
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

func reason(seen Observation) string {
	if seen.Problem == nil {
		return ""
	}
	return seen.Problem.Reason
}

func TestAConnectionGoesThroughItsStates(t *testing.T) {
	member := &fakeMember{t: t, uid: "a", claim: "another hub", revision: 10}
	server := httptest.NewServer(member)
	t.Cleanup(server.Close)
	known := newFleet()
	p := startedProvider(t, known)
	target := settings.Target{Name: "alpha", Config: &rest.Config{Host: server.URL}, KnownUID: "a", Fingerprint: "first"}
	is := func(what string, good func(Observation) bool) {
		t.Helper()
		await.NoError(t, what, func() error {
			if seen := p.Observe("alpha"); !good(seen) {
				return fmt.Errorf("%+v", seen)
			}
			return nil
		})
	}
	p.Ensure(target, false)
	is("a claim of others", func(o Observation) bool {
		return reason(o) == v1alpha1.ReasonClaimedByAnotherHub && o.Claim != nil && !o.Claim.OK && o.tried
	})
	member.change(func(f *fakeMember) { f.claim = "" })
	is("a member without a claim", func(o Observation) bool { return o.State == AwaitingLeader && o.Problem == nil })
	inFleet(t, known, fleet.Member{})
	member.change(func(f *fakeMember) { f.claim = "one" })
	engaged := func(o Observation) bool { return o.State == Engaged && o.Problem == nil && !o.EngagedAt.IsZero() }
	is("an engaged member", engaged)
	inFleet(t, known, fleet.Member{UID: "a", State: fleet.Engaged})
	before := serving(t, p)
	member.change(func(f *fakeMember) { f.silent = true })
	is("a silent member", func(o Observation) bool { return o.State == Silent && reason(o) == v1alpha1.ReasonMemberUnreachable })
	inFleet(t, known, fleet.Member{UID: "a", State: fleet.Engaged, Silent: true})
	member.change(func(f *fakeMember) { f.silent = false })
	is("a member that is back", engaged)
	if serving(t, p) != before {
		t.Error("its caches did not stay")
	}
	member.change(func(f *fakeMember) { f.revision = 3 })
	is("a restored member", func(o Observation) bool { return engaged(o) && !o.RestoredAt.IsZero() })
	if serving(t, p) == before {
		t.Error("its caches stayed")
	}
	member.change(func(f *fakeMember) { f.uid = "b" })
	is("another cluster", func(o Observation) bool { return reason(o) == v1alpha1.ReasonAnotherCluster && !o.State.hasCaches() })
	inFleet(t, known, fleet.Member{})
	member.change(func(f *fakeMember) { f.uid = "a" })
	target.Fingerprint = "second"
	p.Ensure(target, false)
	is("another kubeconfig", engaged)
	p.Stop("alpha")
	inFleet(t, known, fleet.Member{})
	is("the end", func(o Observation) bool { return o.State == Ended })
	target.KnownUID = ""
	p.Leave(target)
	is("a member that was left", func(o Observation) bool { return o.State == Left })
	if done, _ := p.Leave(target); !done {
		t.Error("it is not done")
	}
}
