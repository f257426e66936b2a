package leave

import (
	"cmp"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// endless is an API server whose list of VmGroups never ends. Each page has groups with the operator's
// finalizer.
type endless struct {
	perPage int
	// more is the continue token, "more" if it is empty.
	more string

	mu sync.Mutex
	// pages is the number of listed pages; ahead is the maximum number of groups that were listed but not
	// yet released.
	pages, ahead, listed, letGo int
}

func (e *endless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	group := func(i int) string {
		return fmt.Sprintf(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",`+
			`"metadata":{"namespace":"default","name":"g-%d","uid":"uid-%d","resourceVersion":"1","finalizers":[%q]}}`, i, i, v1alpha1.VmGroupFinalizer)
	}
	if r.Method == http.MethodPatch {
		e.letGo++
		_, _ = fmt.Fprint(w, group(0))
		return
	}
	e.pages++
	items := make([]string, 0, e.perPage)
	for range e.perPage {
		items = append(items, group(e.listed))
		e.listed++
	}
	e.ahead = max(e.ahead, e.listed-e.letGo)
	_, _ = fmt.Fprintf(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1","continue":%q},"items":[%s]}`,
		cmp.Or(e.more, "more"), strings.Join(items, ","))
}

// leavingOf leaves a member that answers so, with a limit of one MiB.
func leavingOf(t *testing.T, handler http.Handler) (*Leaver, remote.APIs) {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	limits := remote.LimitsFor(1 << 20)
	bounds := remote.Bounds{Timeouts: settings.Timings{}.WithDefaults().Remote(), Guard: remote.NewGuard(limits, remote.NewPace(limits))}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	api, err := remote.New(&rest.Config{Host: server.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, nil, bounds, new(shardingtest.Leader(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.End)
	return &Leaver{letGo: map[types.UID]struct{}{}}, remote.APIs{Runtime: api, Bootstrap: api, Guard: bounds.Guard}
}

// TestAListWithoutAnEndEndsTheLeaving, and at most one page of it is in memory.
func TestAListWithoutAnEndEndsTheLeaving(t *testing.T) {
	for _, perPage := range []int{0, 20} {
		member := &endless{perPage: perPage}
		l, apis := leavingOf(t, member)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := l.letFoundGo(ctx, apis)
		cancel()
		var limit *remote.LimitError
		if !errors.As(err, &limit) || !errors.Is(apis.Guard.Err(), limit) {
			t.Errorf("%d groups on a page: said was %v", perPage, err)
		}
		if member.pages < 2 || member.pages > 17 || member.ahead > perPage {
			t.Errorf("%d groups on a page: %d pages were read, and up to %d groups kept in memory before their finalizers were removed", perPage, member.pages, member.ahead)
		}
	}
}

func TestALongContinueTokenEndsTheLeaving(t *testing.T) {
	member := &endless{more: strings.Repeat("t", untrusted.MaxContinue+1)}
	l, apis := leavingOf(t, member)
	var limit *remote.LimitError
	if _, err := l.letFoundGo(t.Context(), apis); !errors.As(err, &limit) || member.pages != 1 {
		t.Errorf("%d pages were read; said was %v", member.pages, err)
	}
}

// TestGroupsWithoutEndEndTheLeaving also if each list ends, but always contains other groups.
func TestGroupsWithoutEndEndTheLeaving(t *testing.T) {
	l, apis := leavingOf(t, &endless{})
	l.letGoBytes = apis.Guard.Limits.Kept + 1
	var limit *remote.LimitError
	if _, err := l.letFoundGo(t.Context(), apis); !errors.As(err, &limit) {
		t.Errorf("said was %v", err)
	}
}

// paged is an API server with groups on several pages. Released groups stay out of later lists.
type paged struct {
	mu   sync.Mutex
	held [][]string // names by page
}

func (p *paged) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	const object = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"namespace":"default","name":%q,"uid":%[1]q,"resourceVersion":"1","finalizers":[%q]}}`
	if r.Method == http.MethodPatch {
		for i, names := range p.held {
			if at := slices.Index(names, path.Base(r.URL.Path)); at >= 0 {
				_, _ = fmt.Fprintf(w, object, names[at], "none")
				p.held[i] = slices.Delete(names, at, at+1)
			}
		}
		return
	}
	page, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	next := ""
	if page+1 < len(p.held) {
		next = strconv.Itoa(page + 1)
	}
	var items []string
	for _, name := range p.held[page] {
		items = append(items, fmt.Sprintf(object, name, v1alpha1.VmGroupFinalizer))
	}
	_, _ = fmt.Fprintf(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1","continue":%q},"items":[%s]}`,
		next, strings.Join(items, ","))
}

func TestGroupsOfAllPagesAreLetGo(t *testing.T) {
	l, apis := leavingOf(t, &paged{held: [][]string{{"a", "b"}, {}, {"c", "d"}, {"e"}}})
	if found, err := l.letFoundGo(t.Context(), apis); err != nil || found != 5 || len(l.letGo) != 5 {
		t.Errorf("found %d, released %d, %v", found, len(l.letGo), err)
	}
	if found, err := l.letFoundGo(t.Context(), apis); err != nil || found != 0 || len(l.letGo) != 5 {
		t.Errorf("afterwards: found %d, released %d, %v", found, len(l.letGo), err)
	}
}
