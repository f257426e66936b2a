package link

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

// revisions is an API server that returns one revision after another, and then always the last one; an empty one is an
// error.
func revisions(t *testing.T, of ...string) *remote.API {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("resourceVersion") || r.URL.Query().Get("limit") != "1" {
			t.Errorf("asked for %s", r.URL)
		}
		answer := of[0]
		if len(of) > 1 {
			of = of[1:]
		}
		if answer == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"VmGroupList","metadata":{"resourceVersion":%q},"items":[]}`, answer)
	}))
	t.Cleanup(server.Close)
	api, err := remote.New(&rest.Config{Host: server.URL}, nil, testBounds(settings.Timings{}.WithDefaults()), new(shardingtest.Leader(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.End)
	return api
}

func testBounds(t settings.Timings) remote.Bounds {
	return remote.Bounds{Timeouts: t.Remote(), Guard: remote.NewGuard(remote.DefaultLimits(), remote.NewPace(remote.DefaultLimits()))}
}

func TestARestoredMemberIsNoticedByItsRevision(t *testing.T) {
	for _, test := range []struct {
		story string
		says  []string
		want  []bool
	}{
		{"nothing happens", []string{"10", "10", "11"}, []bool{false, false, false}},
		{"it returns from a backup and continues from its revision", []string{"10", "7", "7", "8"}, []bool{false, true, false}},
		{"one answer is wrong", []string{"10", "7", "12", "9", "9"}, []bool{false, false, true}},
		{"it does not answer", []string{"10", "", "9", "9"}, []bool{false, false, true}},
		{"with a revision bump", []string{"10", "1000000007"}, []bool{false, false}},
	} {
		t.Run(test.story, func(t *testing.T) {
			p, err := NewProvider(settings.Options{Namespace: "operator", InstallationUID: "one", Fleet: newFleet()})
			if err != nil {
				t.Fatal(err)
			}
			c, api := newConnection(p, settings.Target{Name: "team-a"}, nil), revisions(t, test.says...)
			for i, want := range test.want {
				if got := c.lookBack(t.Context(), api, "uid"); got != want {
					t.Errorf("look %d: went back is %v", i, got)
				}
			}
			// A kubeconfig that leads to another cluster is no restore.
			if c.lookBack(t.Context(), revisions(t, "1"), "another") {
				t.Error("another cluster counts as a restored one")
			}
		})
	}
}
