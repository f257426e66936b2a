package session_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	soapHead = `<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" ` +
		`xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>`
	soapTail = `</soapenv:Body></soapenv:Envelope>`
	pageHead = soapHead + `<RetrievePropertiesExResponse xmlns="urn:vim25"><returnval>`
	pageTail = `</returnval></RetrievePropertiesExResponse>` + soapTail
	object   = `<objects><obj type="VirtualMachine">vm-1</obj>`
	valueOf  = object + `<propSet><name>x</name><val xsi:type=`
	valueEnd = `</val></propSet></objects>`
)

// liar is a proxy in front of a simulator and answers some methods itself.
type liar struct {
	*httptest.Server
	answers map[string]http.HandlerFunc
	asked   map[string]*atomic.Int32
}

func lies(t *testing.T, answers map[string]http.HandlerFunc) *liar {
	t.Helper()
	vcenter, err := sim.Start(sim.Options{})
	must(t, err)
	t.Cleanup(vcenter.Close)
	l := &liar{answers: answers, asked: map[string]*atomic.Int32{}}
	for method := range answers {
		l.asked[method] = new(atomic.Int32)
	}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for method, answer := range answers {
			if strings.Contains(string(body), "<Body><"+method+" ") {
				l.asked[method].Add(1)
				answer(w, r)
				return
			}
		}
		req, _ := http.NewRequestWithContext(r.Context(), r.Method, strings.TrimSuffix(vcenter.URL, "/sdk")+r.URL.Path, strings.NewReader(string(body)))
		req.Header = r.Header
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer func() { _ = res.Body.Close() }()
		for name, values := range res.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, res.Body)
	}))
	t.Cleanup(l.Close)
	return l
}

// sends answers with texts, and repeats the second one up to a number of bytes.
func sends(begin, again string, bytes int, end string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, begin)
		many := strings.Repeat(again, 64<<10/max(1, len(again)))
		for n := 0; n < bytes; n += len(many) {
			if _, err := io.WriteString(w, many); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, end)
	}
}

func refused(t *testing.T, err error, method, limit string) {
	t.Helper()
	var cause *session.LimitError
	if !errors.As(err, &cause) || vsphere.KindOf(err) != vsphere.KindLimitExceeded || cause.Method != method ||
		!strings.Contains(err.Error(), method) || !strings.Contains(err.Error(), limit) {
		t.Fatalf("the answer to %s is no error that names %q: %v", method, limit, err)
	}
}

// allocates returns the number of bytes allocated during a call, which is more than are in use at any time.
func allocates(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestAStrangerSendsLittle: no password is needed to answer at the address of a VCenter.
func TestAStrangerSendsLittle(t *testing.T) {
	const much = 300 << 20
	for _, test := range []struct {
		story, method string
		answer        http.HandlerFunc
		limit         string
	}{
		{"a text", "RetrieveServiceContent", sends(soapHead, "x", much, soapTail), "64 KiB"},
		{"a tag", "RetrieveServiceContent", sends("<a ", "b", much, ""), "a tag of more than 4 KiB"},
		{"blanks", "Login", sends(soapHead, " ", much, soapTail), "64 KiB"},
		{"structs", "Login", sends(soapHead+`<Fault><detail><x xsi:type="HostConnectInfo">`, "<vm/>", much, ""), "a fault of more than 16 KiB"},
		{"depth", "Login", sends(soapHead, "<a>", much, ""), "128 deep"},
		{"a header", "Login", func(w http.ResponseWriter, _ *http.Request) {
			for i := range 100 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
			}
		}, "a header of more than 64 KiB"},
		{"gzip", "Login", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "gzip") }, "compressed"},
	} {
		t.Run(test.story+" for "+test.method, func(t *testing.T) {
			l := lies(t, map[string]http.HandlerFunc{test.method: test.answer})
			var err error
			used := allocates(func() { _, err = session.Open(t.Context(), config(l.URL)) })
			refused(t, err, test.method, test.limit)
			if n := l.asked[test.method].Load(); n != 1 {
				t.Errorf("it is asked %d times at once", n)
			}
			if used > 8<<20 { // this includes the server's side
				t.Errorf("%d KiB are allocated", used>>10)
			}
		})
	}
}

// TestAPageForPeopleIsNoExcess: a web server sends an HTML page while vCenter starts, and the operator retries soon.
func TestAPageForPeopleIsNoExcess(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		l := lies(t, map[string]http.HandlerFunc{"RetrieveServiceContent": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<!DOCTYPE html><html><body>503 Service Unavailable<p></body></html>")
		}})
		if _, err := session.Open(t.Context(), config(l.URL)); err == nil || vsphere.KindOf(err) != vsphere.KindTransient {
			t.Errorf("a page with status %d: %v", status, err)
		}
	}
}

// TestWhoRejectsALoginIsAStrangerStill: after InvalidLogin, the session asks whether it is logged in.
func TestWhoRejectsALoginIsAStrangerStill(t *testing.T) {
	reject := soapHead + `<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>no</faultstring><detail>` +
		`<InvalidLoginFault xmlns="urn:vim25" xsi:type="InvalidLogin"/></detail></soapenv:Fault>` + soapTail
	var sent atomic.Int64
	endless := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, pageHead)
		for {
			n, err := io.WriteString(w, strings.Repeat("<!-- -->", 4<<10))
			if sent.Add(int64(n)); err != nil || sent.Load() > 64<<20 {
				return
			}
		}
	}
	l := lies(t, map[string]http.HandlerFunc{
		"Login":              func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); _, _ = io.WriteString(w, reject) },
		"RetrieveProperties": endless, "RetrievePropertiesEx": endless,
	})
	if _, err := session.Open(t.Context(), config(l.URL)); vsphere.KindOf(err) != vsphere.KindCredentials {
		t.Fatalf("the login is not rejected: %v", err)
	}
	if n := sent.Load(); n == 0 || n > 16<<20 { // data in flight counts
		t.Errorf("%d bytes were sent", n)
	}
}

// TestAnswersAfterALoginAreWeighed: a server can accept the login only to receive more calls.
func TestAnswersAfterALoginAreWeighed(t *testing.T) {
	const much = 300 << 20
	for _, test := range []struct {
		story, method string
		answer        http.HandlerFunc
		limit         string
		// slow marks one of several structures that take long to decode. Such a row needs the build tag slow.
		slow bool
	}{
		{"a page of comments", "RetrievePropertiesEx", sends(pageHead, "<!-- > -->", much, pageTail), "32 MiB", false},
		{"a text", "RetrievePropertiesEx", sends(pageHead+object+`<propSet><name>`, "x", much, ""), "a text of more than 1 MiB", false},
		{"empty objects", "RetrievePropertiesEx", sends(pageHead, "<objects/>", much, pageTail), "64 MiB of memory", true},
		{"empty properties", "RetrievePropertiesEx", sends(pageHead+object, "<propSet/>", much, pageTail), "64 MiB of memory", true},
		{"large structs", "RetrievePropertiesEx", sends(pageHead+valueOf+`"HostConnectInfo">`, "<vm/>", much, valueEnd+pageTail), "64 MiB of memory", false},
		{"structs by their type", "RetrievePropertiesEx", sends(pageHead+object, `<propSet><val xsi:type="HostCapability"/></propSet>`, much, pageTail), "64 MiB of memory", true},
		{"structs in structs", "RetrievePropertiesEx", sends(pageHead+valueOf+`"ArrayOfVirtualMachineSummary">`, "<VirtualMachineSummary><runtime/></VirtualMachineSummary>", much, valueEnd+pageTail), "64 MiB of memory", true},
		{"types of two names", "RetrievePropertiesEx", sends(pageHead+object+`<propSet><val xmlns:a="b" a:type="int" xsi:type="HostConnectInfo">`, "", 0, ""), "type is not clear", false},
		{"a type in escapes", "RetrievePropertiesEx", sends(pageHead+valueOf+`"Host&#67;onnectInfo">`, "", 0, ""), "type is not clear", false},
		{"hidden structs", "RetrievePropertiesEx", sends(pageHead+`<!-- > <obj --><![CDATA[ <obj> ]]>`+valueOf+`"HostConnectInfo">`, "<vm/>", much, ""), "64 MiB of memory", true},
		{"depth", "RetrievePropertiesEx", sends(pageHead, "<objects>", much, pageTail), "128 deep", false},
		{"a plain answer", "CurrentTime", sends(soapHead, "<!-- > -->", much, soapTail), "4 MiB", false},
		{"a change", "CreateFolder", sends(soapHead, "<!-- > -->", much, soapTail), "1 MiB", false},
		{"a fault", "CreateFolder", sends(soapHead+`<soapenv:Fault><faultcode>a</faultcode><faultstring>`, "no ", much, ""), "a fault of more than 16 KiB", false},
		{"a fault of a property", "RetrievePropertiesEx", sends(pageHead+object+`<missingSet><path>name</path><fault><localizedMessage>`, "no ", much, ""), "a fault of more than 16 KiB", false},
	} {
		if test.slow && !everyAnswer {
			continue
		}
		t.Run(test.story+" for "+test.method, func(t *testing.T) {
			l := lies(t, map[string]http.HandlerFunc{test.method: test.answer})
			s, err := session.Open(t.Context(), config(l.URL))
			must(t, err)
			defer func() { _ = s.Close(t.Context()) }()
			ctx := vsphere.WithFence(t.Context(), func() error { return nil })
			call := map[string]func() error{
				"CurrentTime": func() error { return serverTime(ctx, s) },
				"RetrievePropertiesEx": func() error {
					_, err := methods.RetrievePropertiesEx(ctx, s.Client(), &types.RetrievePropertiesEx{This: s.Client().ServiceContent.PropertyCollector})
					return err
				},
				"CreateFolder": func() error {
					_, err := methods.CreateFolder(ctx, s.Client(), &types.CreateFolder{This: s.Client().ServiceContent.RootFolder, Name: "a"})
					return err
				},
			}[test.method]
			used := allocates(func() { err = call() })
			refused(t, err, test.method, test.limit)
			if n := l.asked[test.method].Load(); n != 1 {
				t.Errorf("it is asked %d times at once", n)
			}
			if unknown := vsphere.IsOutcomeUnknown(err); unknown != (test.method == "CreateFolder") {
				t.Errorf("its outcome is unknown: %v", unknown)
			}
			t.Logf("%d MiB are allocated", used>>20)
			if used > 400<<20 {
				t.Errorf("%d MiB are allocated", used>>20)
			}
		})
	}
}
