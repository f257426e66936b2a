package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// script is a server in memory: its responses to the first call, the second, and so on; then it returns the time.
type script struct {
	answers []func() (*http.Response, error)
	calls   []string
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	s.calls = append(s.calls, string(body))
	if n := len(s.calls); n <= len(s.answers) {
		return s.answers[n-1]()
	}
	return answer(http.StatusOK, `<CurrentTimeResponse xmlns="urn:vim25"><returnval>2026-01-02T03:04:05Z</returnval></CurrentTimeResponse>`)
}

func answer(status int, body string) (*http.Response, error) {
	envelope := `<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body>` + body + `</soapenv:Body></soapenv:Envelope>`
	return &http.Response{
		StatusCode: status, Status: fmt.Sprint(status), Body: io.NopCloser(strings.NewReader(envelope)), Request: &http.Request{URL: &url.URL{}},
	}, nil
}

func faultOf(name string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		return answer(http.StatusInternalServerError, `<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>no</faultstring><detail><Fault `+
			`xmlns="urn:vim25" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="`+name+`"></Fault></detail></soapenv:Fault>`)
	}
}

func cut() (*http.Response, error) { return nil, io.EOF }

func busy() (*http.Response, error) { return answer(http.StatusServiceUnavailable, "") }

// half is a response that breaks off after its value has begun.
func half() (*http.Response, error) {
	whole, err := answer(http.StatusOK, `<CurrentTimeResponse xmlns="urn:vim25"><returnval>2020-01-01T00:00:00Z</returnval>`)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(whole.Body)
	whole.Body = io.NopCloser(bytes.NewReader(content[:len(content)-len("</soapenv:Body></soapenv:Envelope>")]))
	return whole, err
}

func silent() (*http.Response, error) { return nil, context.DeadlineExceeded }

// scripted returns a session with a server in memory.
func scripted(answers ...func() (*http.Response, error)) (*Session, *script) {
	server := &script{answers: answers}
	s := &Session{now: time.Now, changed: make(chan struct{})}
	s.soap = soap.NewClient(&url.URL{Scheme: "http", Host: "vcenter", Path: "/sdk"}, false)
	s.soap.Transport = server
	s.client = &vim25.Client{Client: s.soap, RoundTripper: s}
	return s, server
}

func times(n int, answer func() (*http.Response, error)) []func() (*http.Response, error) {
	out := make([]func() (*http.Response, error), n)
	for i := range out {
		out[i] = answer
	}
	return out
}

func TestAReadIsRepeatedForASecondAndAHalfAndOnlyIfItsFailureMayPass(t *testing.T) {
	for _, test := range []struct {
		name    string
		answers []func() (*http.Response, error)
		calls   int
		ok      bool
		took    time.Duration
	}{
		{"it works", nil, 1, true, 0},
		{"its connection breaks", times(1, cut), 2, true, 50 * time.Millisecond},
		{"the server is busy", times(2, busy), 3, true, 150 * time.Millisecond},
		{"the answer breaks off", times(1, half), 2, true, 50 * time.Millisecond},
		{"the server is ill", times(1, faultOf("SystemError")), 2, true, 50 * time.Millisecond},
		{"five tries are in vain", times(5, cut), 6, true, 1550 * time.Millisecond},
		{"six tries are in vain", times(6, cut), 6, false, 1550 * time.Millisecond},
		{"the object does not exist", times(1, faultOf("ManagedObjectNotFound")), 1, false, 0},
		{"it is not allowed", times(1, faultOf("NoPermission")), 1, false, 0},
		{"its time is over", times(1, silent), 1, false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, server := scripted(test.answers...)
				began := time.Now()
				now, err := methods.GetCurrentTime(t.Context(), s.Client())
				if (err == nil) != test.ok || len(server.calls) != test.calls || time.Since(began) != test.took {
					t.Fatalf("%d calls in %s, error %v; want %d in %s", len(server.calls), time.Since(began), err, test.calls, test.took)
				}
				if test.ok && now.Year() != 2026 {
					t.Errorf("the time is %s", now)
				}
			})
		})
	}
}

func TestARepeatedReadEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := scripted(times(6, cut)...)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := methods.GetCurrentTime(ctx, s.Client())
		if err == nil || len(server.calls) != 2 || time.Since(began) != 100*time.Millisecond {
			t.Errorf("%d calls in %s, error %v", len(server.calls), time.Since(began), err)
		}
	})
}

func TestWhatChangesSomethingOrIsHandedOutOnceIsSentOnce(t *testing.T) {
	ref := types.ManagedObjectReference{Type: "Any", Value: "any"}
	for name, call := range map[string]func(context.Context, soap.RoundTripper) error{
		"a clone": func(ctx context.Context, rt soap.RoundTripper) error {
			_, err := methods.CloneVM_Task(ctx, rt, &types.CloneVM_Task{This: ref, Folder: ref})
			return err
		},
		"a folder": func(ctx context.Context, rt soap.RoundTripper) error {
			_, err := methods.CreateFolder(ctx, rt, &types.CreateFolder{This: ref})
			return err
		},
		"an unlisted method": func(ctx context.Context, rt soap.RoundTripper) error {
			_, err := methods.RefreshDatastore(ctx, rt, &types.RefreshDatastore{This: ref})
			return err
		},
		"a page": func(ctx context.Context, rt soap.RoundTripper) error {
			_, err := methods.ContinueRetrievePropertiesEx(ctx, rt, &types.ContinueRetrievePropertiesEx{This: ref})
			return err
		},
		"news": func(ctx context.Context, rt soap.RoundTripper) error {
			_, err := methods.WaitForUpdatesEx(ctx, rt, &types.WaitForUpdatesEx{This: ref})
			return err
		},
		"a filter": func(ctx context.Context, rt soap.RoundTripper) error {
			_, err := methods.CreateFilter(ctx, rt, &types.CreateFilter{This: ref})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, server := scripted(times(6, cut)...)
				fenced := vsphere.WithFence(t.Context(), func() error { return nil })
				if err := call(fenced, s.Client()); !errors.Is(err, io.EOF) || len(server.calls) != 1 {
					t.Errorf("it was sent %d times, error %v", len(server.calls), err)
				}
			})
		})
	}
}
