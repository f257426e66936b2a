//go:build unix

package hostileapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// patience is the timeout of each request.
const patience = 10 * time.Second

const (
	groupsPath = "/apis/vm.codeconnect.vmworld.com/v1alpha1/vmgroups"
	onePath    = "/apis/vm.codeconnect.vmworld.com/v1alpha1/namespaces/real/vmgroups/one"
	madeUpPath = "/apis/vm.codeconnect.vmworld.com/v1alpha1/namespaces/nowhere/vmgroups/made-up"
	systemPath = "/api/v1/namespaces/kube-system"
)

// rig is an API server of two groups and a namespace, with a hostile proxy in front of it.
type rig struct {
	*Server
	t   *testing.T
	url string
	// asked has the header of each request that reached the API server.
	asked chan http.Header

	sending sync.Mutex
	watches []chan string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{Server: New(), t: t, asked: make(chan http.Header, 100)}
	server := httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(server.Close)
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := faultproxy.New(faultproxy.Options{
		Target: target,
		Decide: func(e *faultproxy.Exchange) faultproxy.Fault {
			call := localcluster.ParseAPICall(e.Request)
			call.Body = e.Body
			return r.Decide(call)
		},
		Stream: func(e *faultproxy.Exchange, body io.ReadCloser) io.ReadCloser {
			if call := localcluster.ParseAPICall(e.Request); call.Verb == "watch" {
				return r.Watch(call, body)
			}
			return body
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	r.url = proxy.URL
	return r
}

func (r *rig) serve(w http.ResponseWriter, req *http.Request) {
	r.asked <- req.Header.Clone()
	w.Header().Set("Content-Type", "application/json")
	const one = `{"metadata":{"name":"one","namespace":"real","uid":"uid-of-one","generation":9007199254740993}}`
	switch {
	case req.URL.Query().Get("watch") != "":
		events := make(chan string, 10)
		r.sending.Lock()
		r.watches = append(r.watches, events)
		r.sending.Unlock()
		w.WriteHeader(http.StatusOK)
		for {
			w.(http.Flusher).Flush()
			select {
			case event := <-events:
				_, _ = io.WriteString(w, event)
			case <-req.Context().Done():
				return
			}
		}
	case req.URL.Path == systemPath:
		_, _ = io.WriteString(w, `{"kind":"Namespace","metadata":{"name":"kube-system","uid":"uid-of-the-cluster"}}`)
	case req.URL.Path == groupsPath:
		_, _ = io.WriteString(w, `{"metadata":{"resourceVersion":"7"},"items":[`+one+`,{"metadata":{"name":"two","namespace":"real"}}]}`)
	case req.URL.Path == onePath:
		_, _ = io.WriteString(w, one)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","code":404}`)
	}
}

// send makes the API server send an event on all watches.
func (r *rig) send(kind, metadata string) {
	r.sending.Lock()
	defer r.sending.Unlock()
	for _, events := range r.watches {
		events <- `{"type":"` + kind + `","object":{"metadata":` + metadata + `}}`
	}
}

// call returns the status and the object of a response.
func (r *rig) call(method, path, body string) (int, Object) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", patchType)
	req.Header.Set("Accept", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata, application/json;as=PartialObjectMetadata")
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	o, err := decode(content)
	if err != nil {
		r.t.Fatalf("%s %s: %v: %s", method, path, err, content)
	}
	return response.StatusCode, o
}

// names returns the objects of a list.
func (r *rig) names(path string) []string {
	r.t.Helper()
	_, list := r.call(http.MethodGet, path, "")
	items, _ := list["items"].([]any)
	names := make([]string, 0, len(items))
	for _, item := range items {
		names = append(names, Text(item.(Object), "metadata", "name"))
	}
	slices.Sort(names)
	return names
}

// watch returns a function that returns the next event as "TYPE name uid".
func (r *rig) watch(path string) (next func() string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	r.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path+"?watch=1", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = response.Body.Close() })
	events := json.NewDecoder(response.Body)
	return func() string {
		r.t.Helper()
		var event struct {
			Type   string
			Object Object
		}
		if err := events.Decode(&event); err != nil {
			r.t.Fatal(err)
		}
		return event.Type + " " + Text(event.Object, "metadata", "name") + " " + Text(event.Object, "metadata", "uid")
	}
}

func madeUp() Object {
	o := Object{"spec": Object{"replicas": 1}}
	Set(o, "nowhere", "metadata", "namespace")
	Set(o, "made-up", "metadata", "name")
	Set(o, "any-uid", "metadata", "uid")
	return o
}

func TestALieIsToldWhereverAnObjectIsShown(t *testing.T) {
	r := newRig(t)
	r.Lie(func(s Shown) bool {
		switch {
		case s.Resource == "namespaces" && s.Name == "kube-system":
			Set(s.Object, "uid-of-the-victim", "metadata", "uid")
		case s.Resource == "vmgroups" && s.Namespace == "real" && s.Name == "one":
			Set(s.Object, "a-lie", "metadata", "uid")
		case s.Resource == "vmgroups":
			return false
		}
		return true
	})
	if _, o := r.call(http.MethodGet, systemPath, ""); Text(o, "metadata", "uid") != "uid-of-the-victim" {
		t.Errorf("the namespace reads %v", o)
	}
	if accept := (<-r.asked).Get("Accept"); accept != "application/json;as=PartialObjectMetadata" {
		t.Errorf("the API server is asked for %q, want JSON alone", accept)
	}
	for _, method := range []string{http.MethodGet, http.MethodPatch} {
		_, o := r.call(method, onePath, "{}")
		metadata := o["metadata"].(Object)
		if metadata["uid"] != "a-lie" || metadata["generation"] != json.Number("9007199254740993") {
			t.Errorf("%s is answered with %v", method, o)
		}
	}
	if names := r.names(groupsPath); !slices.Equal(names, []string{"one"}) {
		t.Errorf("the list has %q, and two is not shown", names)
	}
	next := r.watch(groupsPath)
	for _, name := range []string{"two", "one"} {
		r.send("ADDED", `{"name":"`+name+`","namespace":"real","uid":"true"}`)
	}
	if event := next(); event != "ADDED one a-lie" {
		t.Errorf("the first event is %q, want that of one: two is not shown", event)
	}
	r.send("BOOKMARK", `{"resourceVersion":"9"}`)
	if event := next(); event != "BOOKMARK  " {
		t.Errorf("a bookmark came as %q", event)
	}
}

func TestAnInventedObjectLivesAsOneOfTheAPIServer(t *testing.T) {
	r := newRig(t)
	before := r.watch(groupsPath)
	r.Invent("vmgroups", madeUp())
	after := r.watch(groupsPath)
	for _, next := range []func() string{before, after} {
		if event := next(); event != "ADDED made-up any-uid" {
			t.Errorf("a watch sends %q first", event)
		}
	}
	elsewhere := r.watch(strings.TrimSuffix(onePath, "/one"))
	if names := r.names(groupsPath); !slices.Equal(names, []string{"made-up", "one", "two"}) {
		t.Errorf("the list has %q", names)
	}
	if names := r.names(groupsPath + "?limit=1"); slices.Contains(names, "made-up") {
		t.Errorf("the list with a limit has %q", names)
	}

	status, o := r.call(http.MethodPatch, madeUpPath+"/status", `{"metadata":{"resourceVersion":"1"},"spec":{"replicas":5},"status":{"phase":"RUNNING"}}`)
	if status != http.StatusOK || Text(o, "status", "phase") != "RUNNING" || o["spec"].(Object)["replicas"] != json.Number("1") || version(o) != "2" {
		t.Errorf("a patch of status is answered %d with %v", status, o)
	}
	if status, o = r.call(http.MethodPatch, madeUpPath, `{"metadata":{"resourceVersion":"1","finalizers":["f"]}}`); status != http.StatusConflict {
		t.Errorf("a patch of what is old is answered %d with %v", status, o)
	}
	if status, o = r.call(http.MethodPatch, madeUpPath, `{"metadata":{"finalizers":["f"]},"status":null}`); status != http.StatusOK || Text(o, "status", "phase") != "RUNNING" {
		t.Errorf("a patch of finalizers is answered %d with %v", status, o)
	}
	r.Change("vmgroups", "nowhere", "made-up", func(o Object) { Set(o, "2000-01-01T00:00:00Z", "metadata", "deletionTimestamp") })
	if o, ok := r.Invented("vmgroups", "nowhere", "made-up"); !ok || version(o) != "4" {
		t.Errorf("with a finalizer it is %v, there: %v", o, ok)
	}
	r.call(http.MethodPatch, madeUpPath, `{"metadata":{"finalizers":null}}`)
	for _, want := range []string{"MODIFIED", "MODIFIED", "MODIFIED", "DELETED"} {
		if event := after(); event != want+" made-up any-uid" {
			t.Errorf("a watch sends %q, want %s", event, want)
		}
	}
	if status, _ := r.call(http.MethodGet, madeUpPath, ""); status != http.StatusNotFound {
		t.Errorf("without finalizers it is answered %d", status)
	}
	r.send("ADDED", `{"name":"one","namespace":"real","uid":"u"}`)
	if event := elsewhere(); event != "ADDED one u" {
		t.Errorf("a watch of another namespace sends %q", event)
	}
}

func TestAnInventedObjectHidesTheOneThatIsThere(t *testing.T) {
	r := newRig(t)
	o := madeUp()
	Set(o, "real", "metadata", "namespace")
	Set(o, "one", "metadata", "name")
	r.Invent("vmgroups", o)
	if _, o := r.call(http.MethodGet, onePath, ""); Text(o, "metadata", "uid") != "any-uid" {
		t.Errorf("it reads %v", o)
	}
	if names := r.names(groupsPath); !slices.Equal(names, []string{"one", "two"}) {
		t.Errorf("the list has %q", names)
	}
	next := r.watch(groupsPath)
	r.Invent("vmgroups", o)
	r.Forget("vmgroups", "real", "one")
	for _, want := range []string{"ADDED", "MODIFIED", "DELETED"} {
		if event := next(); event != want+" one any-uid" {
			t.Errorf("a watch sends %q, want %s", event, want)
		}
	}
	if _, o := r.call(http.MethodGet, onePath, ""); Text(o, "metadata", "uid") != "uid-of-one" {
		t.Errorf("after it was forgotten it reads %v", o)
	}
}

func TestAClientThatGoesOnFromAVersionThatWasMadeUpHasToBeginAnew(t *testing.T) {
	r := newRig(t)
	o := madeUp()
	Set(o, "9000000000000000000", "metadata", "resourceVersion")
	r.Invent("vmgroups", o)
	for _, query := range []string{"?resourceVersion=9000000000000000000", "?watch=1&resourceVersion=9000000000000000000"} {
		if status, o := r.call(http.MethodGet, groupsPath+query, ""); status != http.StatusGone || o["reason"] != "Expired" {
			t.Errorf("%s is answered %d with %v", query, status, o)
		}
	}
	r.Change("vmgroups", "nowhere", "made-up", func(Object) {})
	if o, _ := r.Invented("vmgroups", "nowhere", "made-up"); version(o) != "9000000000000000001" {
		t.Errorf("the version after it is %s", version(o))
	}
	if status, _ := r.call(http.MethodGet, groupsPath+"?resourceVersion=7", ""); status != http.StatusOK {
		t.Errorf("a version of the API server's is answered %d", status)
	}
}
