package faultproxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

const answer = "the whole answer of the server"

// rig is a server with a proxy in front of it.
type rig struct {
	proxy  *Proxy
	served atomic.Int64
	got    atomic.Value
	fault  atomic.Pointer[Fault]
	ended  chan Result
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{ended: make(chan Result, 10)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		r.got.Store(string(body))
		r.served.Add(1)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	r.proxy, err = New(Options{
		Target: target,
		Decide: func(*Exchange) Fault {
			if f := r.fault.Load(); f != nil {
				return *f
			}
			return Fault{}
		},
		Done: func(_ *Exchange, result Result) { r.ended <- result },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.proxy.Close)
	return r
}

// call returns a client's response body and error.
func (r *rig) call(ctx context.Context, f Fault) (string, error) {
	r.fault.Store(&f)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.proxy.URL, strings.NewReader("please"))
	if err != nil {
		return "", err
	}
	transport := &http.Transport{DisableKeepAlives: true} // a cut connection is not retried
	response, err := transport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return string(body), err
}

func TestEachActDoesWhatItSays(t *testing.T) {
	for act, want := range map[Act]struct {
		served    bool
		body, err string
	}{
		Pass:      {true, answer, ""},
		CutBefore: {false, "", "EOF"},
		CutAfter:  {true, "", "EOF"},
		Truncate:  {true, answer[:len(answer)/2], "unexpected EOF"},
		Answer:    {false, "no", "503"},
	} {
		t.Run(act.String(), func(t *testing.T) {
			r := newRig(t)
			body, err := r.call(t.Context(), Fault{Act: act, Status: http.StatusServiceUnavailable, Body: []byte("no")})
			if body != want.body || (err == nil) != (want.err == "") || (err != nil && !strings.Contains(err.Error(), want.err)) {
				t.Errorf("the client got %q and error %v, want %q and %q", body, err, want.body, want.err)
			}
			if served := r.served.Load() == 1; served != want.served {
				t.Errorf("served: %t, want %t", served, want.served)
			}
			if result := <-r.ended; result.Act != act || result.End.IsZero() {
				t.Errorf("recorded %+v", result)
			}
		})
	}
}

func TestAHangingCallIsHeldUntilTheClientGivesUp(t *testing.T) {
	for act, served := range map[Act]int64{Hang: 0, HangAfter: 1} {
		r := newRig(t)
		ctx, cancel := context.WithCancel(t.Context())
		f := Fault{Act: act}
		if act == HangAfter {
			f.After = cancel
		} else {
			r.proxy.opts.Decide = func(*Exchange) Fault { cancel(); return f }
		}
		if _, err := r.call(ctx, f); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the client got %v", act, err)
		}
		<-r.ended
		if n := r.served.Load(); n != served {
			t.Errorf("%s: served %d times, want %d", act, n, served)
		}
	}
}

func TestClosingTheProxyEndsHangingCalls(t *testing.T) {
	r := newRig(t)
	arrived := make(chan struct{})
	r.proxy.opts.Decide = func(*Exchange) Fault { close(arrived); return Fault{Act: Hang} }
	failed := make(chan error)
	go func() {
		_, err := r.call(context.WithoutCancel(t.Context()), Fault{})
		failed <- err
	}()
	<-arrived
	r.proxy.Close()
	if err := <-failed; err == nil {
		t.Error("a hanging call was answered")
	}
}

func TestTheServerHasActedWhenAfterIsCalledAndTheClientKnowsNothingYet(t *testing.T) {
	r := newRig(t)
	called := false
	body, err := r.call(t.Context(), Fault{After: func() {
		called = r.served.Load() == 1
	}})
	if !called || body != answer || err != nil {
		t.Errorf("called after the server acted: %t; the client got %q, %v", called, body, err)
	}
	if result := <-r.ended; string(result.Answer) != answer {
		t.Errorf("the answer that was recorded is %q", result.Answer)
	}
}

func TestARequestIsRewrittenAndAnAnswerEdited(t *testing.T) {
	r := newRig(t)
	if _, err := r.call(t.Context(), Fault{Rewrite: func(b []byte) []byte { return bytes.ToUpper(append(b, '!')) }}); err != nil {
		t.Fatal(err)
	}
	if got := r.got.Load(); got != "PLEASE!" {
		t.Errorf("the server got %q", got)
	}
	if body, err := r.call(t.Context(), Fault{Edit: func([]byte) []byte { return []byte("else") }}); body != "else" || err != nil {
		t.Errorf("an edited answer reads %q, %v", body, err)
	}
}
