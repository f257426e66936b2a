package remote

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

// token must reach only the member.
const token = "the-token-of-the-member"

// answering returns an API whose server answers with h, over TLS and, if requested, HTTP/2.
func answering(t *testing.T, http2 bool, bounds Bounds, h http.HandlerFunc) *API {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = http2
	server.StartTLS()
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: pemOf(server)}}
	api, err := New(config, nil, bounds, new(shardingtest.Leader(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.End)
	return api
}

// get reads an answer for a path to its end and returns the number of its bytes.
func get(ctx context.Context, api *API, path string) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, api.Host()+path, nil)
	if err != nil {
		return 0, err
	}
	response, err := api.HTTPClient().Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	return io.Copy(io.Discard, response.Body)
}

// A rotation ends the connections of requests that are under way.
func TestARequestThatTheEndOfItsConnectionInterruptsSaysSo(t *testing.T) {
	for _, c := range []struct{ http2, answered bool }{{}, {http2: true}, {answered: true}, {http2: true, answered: true}} {
		arrived, release := make(chan struct{}), make(chan struct{})
		api := answering(t, c.http2, testBounds(), func(w http.ResponseWriter, r *http.Request) {
			if c.answered { // in part
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"kind":`)
				_ = http.NewResponseController(w).Flush()
			}
			close(arrived)
			select {
			case <-release:
			case <-r.Context().Done():
			}
		})
		interrupted := make(chan error, 1)
		go func() {
			_, err := get(t.Context(), api, "/version")
			interrupted <- err
		}()
		<-arrived
		api.End()
		if err := <-interrupted; !errors.Is(err, memberapi.ErrEnded) {
			t.Errorf("%+v: %v", c, err)
		}
		close(release)
		if _, err := get(t.Context(), api, "/version"); !errors.Is(err, memberapi.ErrEnded) {
			t.Errorf("%+v, later: %v", c, err)
		}
	}
}

const (
	onePath   = "/api/v1/namespaces/kube-system"
	listPath  = "/api/v1/namespaces?limit=100"
	watchPath = "/api/v1/namespaces?watch=true"
	// policyPath is the path of an object that is decoded into maps.
	policyPath = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/vmgroup-operator"
)

type neverEnding byte

func (b neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

// TestAnAnswerIsReadNoFurtherThanItsLimit whatever its bytes are on the wire. It counts the memory that its values need when they
// are decoded.
func TestAnAnswerIsReadNoFurtherThanItsLimit(t *testing.T) {
	limits := DefaultLimits()
	event := func(n int) string {
		return `{"type":"ADDED","object":{"data":"` + strings.Repeat("x", n) + `"}}` + "\n"
	}
	for name, test := range map[string]struct {
		path   string
		answer func(http.ResponseWriter)
		// want is the beginning of the error, or "" if the whole answer is read.
		want string
		most int64
	}{
		"a text without end":                 {onePath, repeated(`{"a":"`, `0000`), "the answer of " + onePath + " is too large", limits.Object.Bytes},
		"a list of a text without end":       {listPath, repeated(`{"items":[{"a":"`, `0000`), "a page of the list of /api/v1/namespaces is too large", limits.Page.Bytes},
		"an event of a text without end":     {watchPath, repeated(`{"object":{"a":"`, `0000`), "an event in the watch of /api/v1/namespaces is too large", limits.Object.Bytes},
		"empty objects without end":          {listPath, repeated(`{"items":[`, `{},`), "a page of the list", limits.Page.Weight / 700},
		"empty values without end":           {onePath, repeated(`{"finalizers":[`, `"",`), "the answer of", limits.Object.Weight / 10},
		"numbers in place of items":          {listPath, repeated(`{"items":[`, `0,`), "a page of the list", limits.Page.Weight / 500},
		"nothing in place of items":          {listPath, repeated(`{"items":[`, `null,`), "a page of the list", limits.Page.Weight / 300},
		"arrays in place of items":           {listPath, repeated(`{"items":[`, `[],`), "a page of the list", limits.Page.Weight / 500},
		"numbers in place of structs":        {watchPath, repeated(`{"object":{"status":{"vms":[`, `0,`), "an event in the watch", limits.Object.Weight / 100},
		"texts in place of structs":          {watchPath, repeated(`{"object":{"status":{"vms":[`, `"",`), "an event in the watch", limits.Object.Weight / 70},
		"one number in each of many arrays":  {onePath, repeated(`{"a":[`, `[0],`), "the answer of", limits.Object.Weight / 120},
		"brackets without end":               {onePath, repeated(``, `[`), "the answer of", limits.Object.Weight / 64},
		"an event without end":               {watchPath, repeated(event(1)+`{"a":[`, `{},`), "an event in the watch", limits.Object.Weight / 90},
		"labels without end":                 {onePath, repeated(`{"metadata":{"labels":{`, `"a":"",`), "the answer of", limits.Object.Weight / 14},
		"managed fields without end":         {watchPath, repeated(`{"object":{"metadata":{"managedFields":[`, `{},`), "an event in the watch", limits.Object.Weight / 90},
		"fields of managed fields":           {onePath, repeated(`{"metadata":{"managedFields":[{"fieldsV1":{`, `"f:a":{},`), "the answer of", limits.Object.Bytes},
		"fields of a group's managed fields": {"/apis/" + v1alpha1.GroupVersion.String() + "/namespaces/default/vmgroups/web", once(`{"metadata":{"managedFields":[{"fieldsV1":{` + strings.Repeat(`"f:a":{},`, 200_000) + `"f:b":{}}}]}}`), "", limits.Object.Bytes},
		"fields that become maps":            {policyPath, repeated(`{"metadata":{"managedFields":[{"fieldsV1":{`, `"f:a":{},`), "the answer of", limits.Object.Weight / 25},
		"fields of a name alone":             {onePath, repeated(`{"properties":{"fieldsV1":{"properties":{`, `"f:a":{},`), "the answer of", limits.Object.Weight / 25},
		"what is after fields":               {onePath, repeated(`{"managedFields":[{"fieldsV1":{"f:a":{}}}],"a":[`, `{},`), "the answer of", limits.Object.Weight / 90},
		"braces in texts are text":           {onePath, once(`{"a":"` + strings.Repeat(`\"{[,`, 100_000) + `"}`), "", limits.Object.Bytes},
		"a large object":                     {onePath, once(`{"a":"` + strings.Repeat("x", 5<<19) + `"}`), "", limits.Object.Bytes},
		"a large object in a list":           {listPath, once(`{"items":[{"a":"` + strings.Repeat("x", 5<<19) + `"},{"a":"` + strings.Repeat("x", 5<<19) + `"}]}`), "", 6 << 20},
		"too large an object in a list":      {listPath, once(`{"items":[{},{"a":"` + strings.Repeat("x", 4<<20) + `"},{}]}`), "an object in a page of the list of /api/v1/namespaces is too large", 5 << 20},
		"bytes that are no UTF-8":            {onePath, once(`{"a":"` + strings.Repeat("\xff", 5<<19) + `"}`), "", limits.Object.Bytes},
		"a page of bytes that are no UTF-8":  {listPath, repeated(`{"items":[{"a":"`, "\xff\xff\xff\xff"), "a page of the list", limits.Page.Weight / 7},
		"bytes that become six":              {onePath, repeated(`{"a":"`, "<>&"), "the answer of", limits.Object.Weight / 25},
		"signs as API servers write them":    {onePath, once(`{"a":"` + strings.Repeat(`\u003c`, inEtcd/6) + `"}`), "", limits.Object.Bytes},
		"labels as etcd holds them":          {watchPath, once(labeled(3, false)), "", limits.Object.Bytes},
		"labels and their fields":            {watchPath, once(labeled(3, true)), "", limits.Object.Bytes},
		"24,500 labels":                      {onePath, once(labeled(4, true)), "", limits.Object.Bytes},
		"finalizers as etcd holds them":      {onePath, once(`{"metadata":{"finalizers":[` + strings.Repeat(`"a/b",`, inEtcd/6) + `"a/b"]}}`), "", limits.Object.Bytes},
		"an object beside 99 groups":         {listPath, once(strings.Replace(groupsPage(99, 30), "[", "["+labeled(3, true)+",", 1)), "", limits.Page.Bytes},
		"a hundred groups of 300 VMs":        {listPath, once(groupsPage(100, 300)), "", limits.Page.Bytes},
		"many events":                        {watchPath, once(strings.Repeat(event(1<<20), 40)), "", 42 << 20},
	} {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, HTTP/2 %t", name, http2), func(t *testing.T) {
				bounds := testBounds()
				api := answering(t, http2, bounds, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					test.answer(w)
				})
				n, err := get(t.Context(), api, test.path)
				if n > test.most {
					t.Errorf("%d bytes were read, more than %d", n, test.most)
				}
				var limit *LimitError
				switch {
				case test.want == "":
					if err != nil || bounds.Guard.Err() != nil {
						t.Errorf("refused: %v", err)
					}
				case !errors.As(err, &limit) || !strings.HasPrefix(limit.What, test.want):
					t.Errorf("said was %v, want %q", err, test.want)
				case !errors.Is(bounds.Guard.Err(), limit):
					t.Errorf("the guard knows of %v", bounds.Guard.Err())
				case AsProblem("https://member", err).Reason != v1alpha1.ReasonLimitExceeded:
					t.Errorf("the problem is %+v", AsProblem("https://member", err))
				}
			})
		}
	}
}

// inEtcd is the maximum number of bytes of an object in etcd.
const inEtcd = 3 << 19

// labeled is the largest object with labels of that many letters, and, if requested, with managed fields.
func labeled(letters int, fields bool) string {
	var labels, set strings.Builder
	for i := 0; labels.Len()+set.Len() < inEtcd-200; i++ {
		name := fmt.Sprintf("%0*s", letters, strconv.FormatInt(int64(i), 36))
		fmt.Fprintf(&labels, `"%s":"",`, name)
		if fields {
			fmt.Fprintf(&set, `"f:%s":{},`, name)
		}
	}
	return `{"metadata":{"labels":{` + labels.String() + `"l":""},"managedFields":[{"manager":"m","fieldsV1":{"f:metadata":{"f:labels":{` + set.String() +
		`"f:l":{}}}}}],"name":"web"}}`
}

func once(text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { _, _ = io.WriteString(w, text) }
}

// repeated continues until its reader stops.
func repeated(begin, again string) func(http.ResponseWriter) {
	chunk := []byte(strings.Repeat(again, 10_000))
	return func(w http.ResponseWriter) {
		_, err := io.WriteString(w, begin)
		for err == nil {
			_, err = w.Write(chunk)
		}
	}
}

// groupsPage is a page of a list of groups as an API server sends it.
func groupsPage(groups, vms int) string {
	vm := `{"name":"web-1","moRef":"vm-12345","instanceUUID":"01234567-89ab-cdef-0123-456789abcdef","phase":"Running","powerState":"poweredOn","ip":"10.0.0.1","revision":"abc"}`
	fields := `{"f:metadata":{"f:finalizers":{".":{},"v:\"x\"":{}}},"f:status":{` + strings.Repeat(`"f:x":{},`, 40) + `"f:y":{}}}`
	group := `{"metadata":{"name":"web","annotations":{"a":"` + strings.Repeat("x", 4000) + `"},"managedFields":[{"manager":"m","fieldsV1":` + fields + `}]},` +
		`"status":{"vms":[` + strings.TrimSuffix(strings.Repeat(vm+",", vms), ",") + `]}}`
	return `{"items":[` + strings.TrimSuffix(strings.Repeat(group+",", groups), ",") + `]}`
}

func TestHeadersAreBounded(t *testing.T) {
	for _, bytes := range []int{100 << 10, 5 << 20} {
		for _, http2 := range []bool{false, true} {
			bounds := testBounds()
			api := answering(t, http2, bounds, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				for i := range bytes / 1000 {
					w.Header().Set(fmt.Sprintf("X-Flood-%d", i), strings.Repeat("x", 1000))
				}
				_, _ = io.WriteString(w, "{}")
			})
			_, err := get(t.Context(), api, onePath)
			var limit *LimitError
			if err == nil || bytes < mostHeaders && !errors.As(err, &limit) {
				t.Errorf("HTTP/2 %t, %d bytes of headers: %v", http2, bytes, err)
			}
		}
	}
}

// TestAPauseThatAnAnswerAsksForIsBounded: client-go sleeps for the requested time.
func TestAPauseThatAnAnswerAsksForIsBounded(t *testing.T) {
	const header = "Retry-After"
	for asked, want := range map[string]string{"1": "1", "5": "5", "6": "5", "2000000000": "5", "tomorrow": "tomorrow", "": ""} {
		for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
			api := answering(t, true, testBounds(), func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set(header, asked)
				w.WriteHeader(status)
			})
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, api.Host()+watchPath, nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := api.HTTPClient().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			if got := response.Header.Get(header); got != want {
				t.Errorf("%d: asked for a pause of %q, passed on was %q, want %q", status, asked, got, want)
			}
			if err := response.Body.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestARedirectIsNotFollowed, with any method and from https to http or https: no other server gets the token, or a body.
func TestARedirectIsNotFollowed(t *testing.T) {
	var elsewhere atomic.Int64
	other := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	plain, encrypted := httptest.NewServer(other), httptest.NewTLSServer(other)
	defer plain.Close()
	defer encrypted.Close()
	for _, to := range []string{plain.URL, encrypted.URL, ""} {
		for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
			bounds := testBounds()
			own := 0
			api := answering(t, true, bounds, func(w http.ResponseWriter, r *http.Request) {
				if own++; own%2 == 1 {
					http.Redirect(w, r, to+"/secret?of=user", status)
				}
			})
			var redirect *RedirectError
			object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b"}}
			object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroup"))
			for name, call := range map[string]func() error{
				"get": func() error { return api.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object) },
				"patch": func() error {
					return api.Client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"secret":1}`)))
				},
			} {
				own = 0
				if err := call(); !errors.As(err, &redirect) || strings.Contains(redirect.Error(), "secret") {
					t.Errorf("%d to %q: %s said %v", status, to, name, err)
				}
				if own != 1 {
					t.Errorf("%d to %q: %s asked %d times", status, to, name, own)
				}
			}
			if p := AsProblem(api.Host(), bounds.Guard.Err()); p.Reason != v1alpha1.ReasonRedirectRefused || !p.Lasting {
				t.Errorf("the problem is %+v", p)
			}
		}
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("other servers were asked %d times", n)
	}
}

// TestOnlyJSONIsAskedForAndTaken: the cost of other encodings is unknown before they are decoded.
func TestOnlyJSONIsAskedForAndTaken(t *testing.T) {
	var asked atomic.Value
	kind, status := "application/vnd.kubernetes.protobuf", http.StatusOK
	api := answering(t, true, testBounds(), func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Header.Get("Accept"))
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte("k8s\x00 and what not"))
	})
	_, err := api.ClusterUID(t.Context(), time.Minute) // a typed client, which prefers protobuf
	var answer *AnswerError
	if !errors.As(err, &answer) || !strings.Contains(answer.What, kind) {
		t.Errorf("said was %v", err)
	}
	if p := AsProblem(api.Host(), err); p.Reason != v1alpha1.ReasonMemberUnreachable || !strings.Contains(p.Message, "protobuf") {
		t.Errorf("the problem is %+v", p)
	}
	if got := asked.Load(); got != "application/json" {
		t.Errorf("asked for %q", got)
	}
	kind, status = "text/html", http.StatusServiceUnavailable // of a load balancer
	if _, err := api.ClusterUID(t.Context(), time.Minute); errors.As(err, &answer) || AsProblem(api.Host(), err).Reason != v1alpha1.ReasonMemberUnreachable {
		t.Errorf("a load balancer's error is %v", err)
	}
}

// TestACompressedAnswerIsNotAskedForAndRefused: the compressed bytes do not bound the decompressed size, and gzip can be endless and decompress
// to nothing.
func TestACompressedAnswerIsNotAskedForAndRefused(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		for _, path := range []string{onePath, listPath, watchPath} {
			bounds := testBounds()
			var asked atomic.Value
			api := answering(t, http2, bounds, func(w http.ResponseWriter, r *http.Request) {
				asked.Store(r.Header.Get("Accept-Encoding"))
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				for z.Flush() == nil { // a block of no bytes
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_, err := get(ctx, api, path)
			cancel()
			var answer *AnswerError
			if !errors.As(err, &answer) || !strings.Contains(AsProblem(api.Host(), err).Message, `an answer has the encoding "gzip"`) {
				t.Errorf("HTTP/2 %t, %s: said was %v", http2, path, err)
			}
			if !errors.Is(bounds.Guard.Err(), answer) {
				t.Errorf("HTTP/2 %t, %s: the guard knows of %v", http2, path, bounds.Guard.Err())
			}
			if got := asked.Load(); got != "identity" {
				t.Errorf("HTTP/2 %t, %s: asked for %q", http2, path, got)
			}
		}
	}
}

// TestAnAnswerThatDripsEnds, and so does an event. Between events a watch can be idle.
func TestAnAnswerThatDripsEnds(t *testing.T) {
	bounds := testBounds()
	bounds.Timeouts.Answer = 200 * time.Millisecond
	drip := func(begin string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, begin)
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				<-tick.C
			}
		}
	}
	api := answering(t, true, bounds, drip(`{"items":[`))
	for _, path := range []string{onePath, listPath} {
		if _, err := get(t.Context(), api, path); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := bounds.Guard.Err(); err != nil {
		t.Errorf("what is slow is refused: %v", err)
	}
	var limit *LimitError
	if _, err := get(t.Context(), api, watchPath); !errors.As(err, &limit) || !strings.Contains(limit.What, "does not end") {
		t.Errorf("an event that drips: %v", err)
	}
	bounds.Guard = NewGuard(DefaultLimits(), NewPace(DefaultLimits()))
	quiet := answering(t, true, bounds, drip(`{"type":"BOOKMARK"}`+"\n"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := get(ctx, quiet, watchPath); !errors.Is(err, context.DeadlineExceeded) || bounds.Guard.Err() != nil {
		t.Errorf("a watch without events: %v, %v", err, bounds.Guard.Err())
	}
}

// TestBlanksBetweenEventsAreNotPassedOn: the decoder of a watch keeps the blanks before an event, and they can be endless. Those within an event
// belong to the event.
func TestBlanksBetweenEventsAreNotPassedOn(t *testing.T) {
	const event = `{"type": "ADDED",` + "\n" + `"object": {"a": " { "}}`
	blanks := strings.Repeat(" \t\r\n", 4<<20)
	bounds := testBounds()
	api := answering(t, true, bounds, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		once(blanks + event + blanks + event + event + blanks)(w)
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, api.Host()+watchPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := api.HTTPClient().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	got, err := io.ReadAll(response.Body)
	if err != nil || string(got) != event+event+event {
		t.Errorf("%d bytes were passed on, error %v", len(got), err)
	}
	if err := bounds.Guard.Err(); err != nil {
		t.Errorf("blanks are refused: %v", err)
	}
}

// TestNoMoreConnectionsAreMadeThanNeeded for a member that does not support HTTP/2 and does not answer.
func TestNoMoreConnectionsAreMadeThanNeeded(t *testing.T) {
	var mu sync.Mutex
	connections := map[string]bool{}
	ctx, cancel := context.WithCancel(t.Context())
	api := answering(t, false, testBounds(), func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		connections[r.RemoteAddr] = true
		if len(connections) == 64 {
			time.AfterFunc(300*time.Millisecond, cancel) // for one too many to come
		}
		mu.Unlock()
		<-ctx.Done()
	})
	var calls sync.WaitGroup
	for range 200 {
		calls.Go(func() { _, _ = get(ctx, api, onePath) })
	}
	calls.Wait()
	mu.Lock()
	defer mu.Unlock()
	if n := len(connections); n != 64 {
		t.Errorf("%d connections were made", n)
	}
}

// TestAFloodOfEventsIsReadAtAPace that leaves the processors to others.
func TestAFloodOfEventsIsReadAtAPace(t *testing.T) {
	const rate = 1 << 20
	event := `{"type":"ADDED","object":{"data":"` + strings.Repeat("x", 2*eventCost) + `"}}` + "\n"
	bounds := testBounds()
	bounds.Guard.Limits.Rate, bounds.Guard.Limits.Burst = rate, rate
	bounds.Guard = NewGuard(bounds.Guard.Limits, NewPace(bounds.Guard.Limits))
	api := answering(t, true, bounds, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.Repeat(event, rate*3/2/len(event)))
	})
	begun := time.Now()
	n, err := get(t.Context(), api, watchPath)
	// The bytes beyond the burst take half a second. On a slow machine they take longer.
	if took := time.Since(begun); n < rate || took < 400*time.Millisecond {
		t.Errorf("%d bytes were read in %s, %v", n, took, err)
	}
}
