package webhook

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestWhoKnowsNoSegmentIsToldNothing(t *testing.T) {
	s := serve(t, knowledgeWith(), nil)
	review := reviewOf(t, requestFor(t, nil, aGroup()))
	ask := func(method, path, kind string) string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, s.url, bytes.NewReader(review))
		if err != nil {
			t.Fatal(err)
		}
		request.URL.Path = path
		request.Header.Set("Content-Type", kind)
		response, err := s.client.Transport.RoundTrip(request) // which follows no redirect
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		response.Header.Del("Date")
		return fmt.Sprintf("%s %v close=%v %q", response.Status, response.Header, response.Close, text)
	}
	want := ask(http.MethodPost, "/", "application/json")
	if !strings.HasPrefix(want, "404 ") {
		t.Fatal(want)
	}
	asked := 1.0
	for _, path := range []string{
		"/clusters/team-a/0123456789abcdef0123456789abcde0/validate",
		"/clusters/team-a/0123456789abcdef0123456789abcdef0/validate",
		"/clusters/team-a/x/mutate",
		"/clusters/team-b/" + testSegment + "/validate",
		"/clusters/team-b/00000000000000000000000000000000/validate",
		"/clusters/team-a/../" + testSegment + "/validate",
		"/clusters//team-a/x/validate",
		"/clusters/team-a//validate",
		"/clusters/team-a/" + testSegment + "/other",
		"/clusters/team-a/" + testSegment + "/validate/",
		"/clusters/team-a",
		"/clusters",
		"//", "/healthz", "/metrics", "/.", "*",
		VCenterPath, MemberClusterPath, VmGroupPolicyPath,
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodPut, http.MethodOptions, http.MethodDelete, "ANY"} {
			if got := ask(method, path, "application/json"); got != want {
				t.Errorf("%s %s: %s\nwant %s", method, path, got, want)
			}
			asked++
		}
		if got := ask(http.MethodPost, path, "text/html"); got != want {
			t.Errorf("POST %s with another content type: %s\nwant %s", path, got, want)
		}
		asked++
	}
	if got := s.count("", "", notFound); got != asked {
		t.Errorf("%v requests counted as not found, want %v, under no name", got, asked)
	}
	if s.logs.String() != "" {
		t.Errorf("guesses fill the log: %s", s.logs)
	}
}

func TestTheHubsPortKnowsItsOwnPathsOnly(t *testing.T) {
	s := serve(t, knowledgeWith(), nil)
	review := reviewOf(t, requestFor(t, nil, aGroup()))
	for _, path := range []string{"/", ValidatePath(testMember, testSegment), MutatePath(testMember, testSegment), VCenterPath + "/", "/" + VCenterPath} {
		if status, text := s.postTo(s.hubURL+path, review); status != http.StatusNotFound || strings.TrimSpace(string(text)) != "404 page not found" {
			t.Errorf("POST %s: %d %q, want a plain 404", path, status, text)
		}
	}
	if !s.askHub(VCenterPath, hubRequest(t, nil, vcenter(nil))).Allowed {
		t.Error("a good VCenter is refused")
	}
}

func TestHostileBodiesGetACleanAnswer(t *testing.T) {
	s := serve(t, knowledgeWith(policyNamed("default", defaultPolicy())), nil)
	good := string(reviewOf(t, requestFor(t, nil, aGroup())))
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	path := ValidatePath(testMember, testSegment)
	for _, c := range []struct {
		story  string
		body   string
		status int
	}{
		{"nothing", "", 400},
		{"no JSON", "hello", 400},
		{"null", "null", 400},
		{"a list", "[]", 400},
		{"cut off", good[:len(good)-20], 400},
		{"without request", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, 400},
		{"of another kind", strings.Replace(good, `"AdmissionReview"`, `"ConversionReview"`, 1), 400},
		{"of an old version", strings.Replace(good, "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1), 400},
		{"without UID", strings.Replace(good, `"uid":"6f3d5a0e-0000-4000-8000-000000000001"`, `"uid":""`, 1), 400},
		{"of wrong types", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":5,"object":"x"}}`, 400},
		{"nested 10,000 deep", strings.Replace(good, `"template":"linux-12"`, `"template":`+deep(10_000), 1), 400},
		{"nested 3,000,000 deep and not closed", strings.Repeat("[", 3_000_000), 400},
		{"nested 100 deep", strings.Replace(good, `"template":"linux-12"`, `"template":`+deep(100), 1), 400},
		{"of 1 MiB with a string of quotes", `{"apiVersion":"` + strings.Repeat(`\"{`, 350_000), 400},
		{"of 4 MiB", `"` + strings.Repeat("x", 4<<20) + `"`, 413},
	} {
		t.Run(c.story, func(t *testing.T) {
			if status, text := s.post(path, []byte(c.body)); status != c.status || len(text) > 200 {
				t.Errorf("status %d, want %d: %.300s", status, c.status, text)
			}
		})
	}
	if text := s.logs.String(); text != "" {
		t.Errorf("hostile bodies reached the log: %.300s", text)
	}
	if !s.validate(requestFor(t, nil, aGroup())).Allowed {
		t.Error("a good object is refused afterwards")
	}
}

func TestObjectsOfWrongShapeAreRefusedAndNotPatched(t *testing.T) {
	s := serve(t, knowledgeWith(policyNamed("default", defaultPolicy())), nil)
	const head = `{"apiVersion":"vm.codeconnect.vmworld.com/v1alpha1","kind":"VmGroup","metadata":{"name":"vg"},`
	for _, object := range []string{
		head + `"spec":{"cpu":"four"}}`, head + `"spec":{"cpu":1.5}}`, head + `"spec":{"cpu":99999999999999}}`,
		head + `"spec":[]}`, head + `"spec":{"placement":3}}`, `[]`, `null`, `"x"`, `{"apiVersion":"v1","kind":"Pod"}`,
	} {
		request := requestFor(t, nil, object)
		if a := s.validate(request); a.Allowed || a.Result.Code != 400 {
			t.Errorf("%s: allowed %v, result %+v, want a refusal with code 400", object, a.Allowed, a.Result)
		}
		// The webhook does not refuse first what the schema refuses with a better message.
		if a := s.mutate(request); !a.Allowed || len(a.Patch) > 0 {
			t.Errorf("%s: mutation says %+v", object, a)
		}
	}
	huge := aGroup(func(g *v1alpha1.VmGroup) { g.Annotations = map[string]string{"x": strings.Repeat("y", 1<<20)} })
	if a := s.validate(requestFor(t, huge, huge)); !a.Allowed {
		t.Errorf("an object of 1 MiB is refused: %+v", a.Result)
	}
}

func TestOtherContentTypesAndMethodsAreRefused(t *testing.T) {
	s := serve(t, knowledgeWith(), nil)
	review := string(reviewOf(t, requestFor(t, nil, aGroup())))
	for _, c := range []struct {
		method, kind string
		status       int
	}{
		{"POST", "application/json; charset=utf-8", 200},
		{"POST", "text/plain", 415},
		{"POST", "", 415},
		{"POST", "application/json; charset", 415},
		{"GET", "application/json", 404},
		{"PUT", "application/json", 404},
	} {
		request, err := http.NewRequestWithContext(t.Context(), c.method, s.url+ValidatePath(testMember, testSegment), strings.NewReader(review))
		if err != nil {
			t.Fatal(err)
		}
		request.Header["Content-Type"] = []string{c.kind}
		response, err := s.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != c.status {
			t.Errorf("%s as %q: status %d, want %d", c.method, c.kind, response.StatusCode, c.status)
		}
	}
}

// dial opens a connection to the server, on which a test can be slow.
func (s *served) dial() net.Conn {
	s.t.Helper()
	return s.dialTo(s.url)
}

func (s *served) dialTo(to string) net.Conn {
	s.t.Helper()
	address, err := url.Parse(to)
	if err != nil {
		s.t.Fatal(err)
	}
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(context.Background(), "tcp", address.Host)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(2 * patience)); err != nil {
		s.t.Fatal(err)
	}
	return conn
}

func (s *served) begin(conn net.Conn, path string, length int, part string) {
	s.t.Helper()
	_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, length, part)
	if err != nil {
		s.t.Fatal(err)
	}
}

// readStatus reads a response. Only a response that closes the connection announces it.
func readStatus(t *testing.T, conn net.Conn) int {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.Close != (response.StatusCode != http.StatusOK) {
		t.Errorf("status %d, and Connection: close is %v", response.StatusCode, response.Close)
	}
	return response.StatusCode
}

func TestASlowSenderIsLeftAndHoldsNoRoom(t *testing.T) {
	s := serve(t, knowledgeWith(), func(o *Options) { o.BodyTimeout, o.Requests = 2*time.Second, 2 })
	conn := s.dial()
	s.begin(conn, ValidatePath(testMember, testSegment), 1000, `{"apiVersion":`)
	start := time.Now()
	if status := readStatus(t, conn); status != http.StatusRequestTimeout {
		t.Errorf("status %d, want 408", status)
	}
	if took := time.Since(start); took > patience {
		t.Errorf("waited %v for a body", took)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection stays open: %v", err)
	}
	// One member's part is half of the room, and the slow sender had all of it.
	if !s.validate(requestFor(t, nil, aGroup(func(g *v1alpha1.VmGroup) { g.Spec.CPU = 1 }))).Allowed {
		t.Error("refused")
	}
	if got := s.count("validate", testMember, tooSlow); got != 1 {
		t.Errorf("%v slow requests counted, want 1", got)
	}
}

func TestAGuessWithASlowBodyIsNotWaitedFor(t *testing.T) {
	s := serve(t, knowledgeWith(), nil)
	conn := s.dial()
	s.begin(conn, "/clusters/team-a/guess/validate", 100_000, `{`)
	start := time.Now()
	if status := readStatus(t, conn); status != http.StatusNotFound {
		t.Errorf("status %d, want 404", status)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection stays open: %v", err)
	}
	if took := time.Since(start); took > patience/2 { // the timeout of a body is twice as long
		t.Errorf("the connection was held for %v", took)
	}
}

func TestTheDeadlineOfABodyDoesNotEndTheHandlerOrTheConnection(t *testing.T) {
	const timeout = time.Second
	w := knowledgeWith()
	s := serve(t, w, func(o *Options) { o.BodyTimeout = timeout })
	w.hook = func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(timeout * 3 / 2):
			return nil
		}
	}
	conn := s.dial()
	review := string(reviewOf(t, requestFor(t, nil, aGroup())))
	for range 2 {
		s.begin(conn, ValidatePath(testMember, testSegment), len(review), review)
		if status := readStatus(t, conn); status != http.StatusOK {
			t.Fatalf("status %d, want 200", status)
		}
	}
}

func TestOneMemberDoesNotTakeAllTheRoom(t *testing.T) {
	w := knowledgeWith()
	inside, goOn := make(chan struct{}, 10), make(chan struct{})
	w.hook = func(context.Context) error {
		inside <- struct{}{}
		<-goOn
		return nil
	}
	s := serve(t, w, func(o *Options) {
		o.Requests = 8
		o.Segments = segments(func(_, segment string) bool { return segment == testSegment })
	})
	review := reviewOf(t, requestFor(t, nil, aGroup()))
	var waiting sync.WaitGroup
	send := func(member string) {
		waiting.Go(func() {
			if status, _ := s.post(ValidatePath(member, testSegment), review); status != http.StatusOK {
				t.Errorf("member %s: status %d", member, status)
			}
		})
		select {
		case <-inside:
		case <-time.After(patience):
			t.Fatalf("a request of member %s is not answered", member)
		}
	}
	for _, c := range []struct {
		member string
		gets   int
	}{{"team-a", 4}, {"team-b", 2}, {"team-c", 1}} { // half of what earlier requests have left
		for range c.gets {
			send(c.member)
		}
		if status, _ := s.post(ValidatePath(c.member, testSegment), review); status != http.StatusServiceUnavailable {
			t.Errorf("request %d of member %s at a time: status %d, want 503", c.gets+1, c.member, status)
		}
	}
	close(goOn)
	waiting.Wait()
	w.hook = nil
	if status, _ := s.post(ValidatePath("team-c", testSegment), review); status != http.StatusOK {
		t.Errorf("afterwards: status %d, want 200", status)
	}
	if got := s.count("validate", "team-a", noRoom); got != 1 {
		t.Errorf("%v requests of team-a counted as without room, want 1", got)
	}
}

func TestWhoAsksAboutTheHubsKindsTakesNothingFromMembers(t *testing.T) {
	s := serve(t, knowledgeWith(), func(o *Options) { o.Requests, o.BodyTimeout = 2, 2*patience })
	statuses := make(chan int, hubRequests)
	for range hubRequests { // twice the limit at a time
		conn := s.dialTo(s.hubURL)
		s.begin(conn, VCenterPath, 1000, "{")
		go func() {
			if response, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				_ = response.Body.Close()
				statuses <- response.StatusCode
			}
		}()
	}
	for range hubRequests / 2 {
		select {
		case status := <-statuses:
			if status != http.StatusServiceUnavailable {
				t.Errorf("status %d, want 503", status)
			}
		case <-time.After(patience):
			t.Fatal("slow requests take more than their part")
		}
	}
	if !s.validate(requestFor(t, nil, aGroup())).Allowed {
		t.Error("a member has no room")
	}
}

func TestMemoryOfBodiesIsBounded(t *testing.T) {
	s := serve(t, knowledgeWith(), func(o *Options) { o.Memory = 64 << 10 })
	big := []byte(`"` + strings.Repeat("x", 100<<10) + `"`)
	if status, _ := s.post(ValidatePath(testMember, testSegment), big); status != http.StatusServiceUnavailable {
		t.Errorf("status %d, want 503", status)
	}
	for range 20 { // refused and answered requests returned their part
		if a := s.validate(requestFor(t, nil, aGroup())); !a.Allowed {
			t.Fatalf("refused: %+v", a.Result)
		}
	}
}

func TestAPanicAnswersAndTheNextRequestIsServed(t *testing.T) {
	w := knowledgeWith()
	s := serve(t, w, nil)
	review := reviewOf(t, requestFor(t, nil, aGroup(func(g *v1alpha1.VmGroup) { g.Labels = map[string]string{"canary": "hunter2"} })))
	w.hook = func(context.Context) error {
		var none []int
		return fmt.Errorf("%d", none[len(review)]) //nolint:gosec // out of range: that is the test
	}
	status, text := s.post(ValidatePath(testMember, testSegment), review)
	if status != http.StatusInternalServerError {
		t.Errorf("status %d, want 500: %s", status, text)
	}
	if log := s.logs.String(); !strings.Contains(log, "index out of range") || strings.Contains(log, "hunter2") {
		t.Errorf("log %s", log)
	}
	w.hook = nil
	if !s.validate(requestFor(t, nil, aGroup())).Allowed || s.count("validate", testMember, panicked) != 1 {
		t.Error("the next request is not served, or the panic not counted")
	}
}

func TestWhatNobodyCanTellIsNotARefusal(t *testing.T) {
	w := &knowledge{}
	s := serve(t, w, nil)
	incomplete := reviewOf(t, requestFor(t, nil, aGroup(func(g *v1alpha1.VmGroup) { g.Spec.CPU = 0 })))
	complete := reviewOf(t, requestFor(t, nil, aGroup(func(g *v1alpha1.VmGroup) { g.Spec.Disks = &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: 1}} })))
	for _, c := range []struct {
		story, path string
		body        []byte
		status      int
	}{
		{"no policies, validation", ValidatePath(testMember, testSegment), complete, 500},
		{"no policies, something to fill in", MutatePath(testMember, testSegment), incomplete, 500},
		{"no policies, nothing to fill in", MutatePath(testMember, testSegment), complete, 200},
	} {
		if status, text := s.post(c.path, c.body); status != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.story, status, c.status, text)
		}
	}
	w.policies = knowledgeWith().policies
	w.hook = func(context.Context) error { return errors.New("the cache of member team-a is not filled") }
	for _, path := range []string{ValidatePath(testMember, testSegment), MutatePath(testMember, testSegment)} {
		status, text := s.post(path, incomplete)
		if status != http.StatusInternalServerError || !strings.Contains(string(text), "the cache of member team-a is not filled") {
			t.Errorf("%s: status %d: %s", path, status, text)
		}
	}
	for _, name := range []string{"validate", "mutate"} { // two failures of each
		if got := strings.Count(s.logs.String(), `"webhook" "`+name+`"`); got != 1 {
			t.Errorf("the log has %d lines about %s, want one in a while: %s", got, name, s.logs)
		}
	}
	deleting := aGroup(func(g *v1alpha1.VmGroup) { g.DeletionTimestamp, g.Finalizers = now(), []string{"x"} })
	w.policies = nil
	if !s.validate(requestFor(t, deleting, deleting)).Allowed {
		t.Error("a group that is being deleted waits for policies")
	}
}

func TestASlowAnswerEndsBeforeTheAPIServerGivesUp(t *testing.T) {
	w := knowledgeWith()
	w.hook = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	s := serve(t, w, func(o *Options) { o.Timeout = time.Second })
	status, text := s.post(ValidatePath(testMember, testSegment), reviewOf(t, requestFor(t, nil, aGroup())))
	if status != http.StatusInternalServerError {
		t.Errorf("status %d: %s", status, text)
	}
}

func TestManyAtATime(t *testing.T) {
	s := serve(t, knowledgeWith(policyNamed("default", defaultPolicy())), nil)
	good := reviewOf(t, requestFor(t, nil, aGroup()))
	bad := reviewOf(t, requestFor(t, nil, aGroup(func(g *v1alpha1.VmGroup) { g.Spec.CPU = 16 })))
	hostile := [][]byte{[]byte(strings.Repeat("[", 1<<20)), []byte(`{"request":{"uid":5}}`), good[:100], {}}
	path := ValidatePath(testMember, testSegment)
	var senders sync.WaitGroup
	for sender := range 16 {
		senders.Go(func() {
			for i := range 25 {
				switch {
				case (sender+i)%8 == 0:
					if status, _ := s.post(path, hostile[i%len(hostile)]); status != http.StatusBadRequest {
						t.Errorf("hostile body %d: status %d", i%len(hostile), status)
					}
				case i%2 == 0:
					if status, text := s.post(path, good); status != http.StatusOK || !strings.Contains(string(text), `"allowed":true`) {
						t.Errorf("status %d: %s", status, text)
					}
				default:
					if status, text := s.post(path, bad); status != http.StatusOK || !strings.Contains(string(text), `"allowed":false`) {
						t.Errorf("status %d: %s", status, text)
					}
				}
			}
		})
	}
	senders.Wait()
}
