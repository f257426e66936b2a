//go:build !fast

package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// silent is a server that accepts a request and does not answer.
func silent(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func request(ctx context.Context) *http.Request {
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://hub.example.com/version", http.NoBody)
	return r
}

func TestARequestToASilentServerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := (&timeoutTransport{tripper(silent), t.Context()}).RoundTrip(request(t.Context()))
		if waited := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || waited != answerTimeout {
			t.Errorf("after %s: %v", waited, err)
		}
		if f := new(Failure); !errors.As(Explain("hub", "https://hub.example.com", err), &f) || !strings.Contains(f.Sentence, "cannot be reached at https://hub.example.com: no answer within 30s") {
			t.Errorf("%v", f)
		}
	})
}

// TestARequestOfDiscoveryEndsWithTheCommand: discovery has no context of its own.
func TestARequestOfDiscoveryEndsWithTheCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		command, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, interrupt)
		began := time.Now()
		_, err := (&timeoutTransport{tripper(silent), command}).RoundTrip(request(context.Background()))
		if waited := time.Since(began); !errors.Is(err, context.Canceled) || waited != time.Second {
			t.Errorf("after %s: %v", waited, err)
		}
		// What undoes a command has a context that outlives it.
		undo, cancel := context.WithTimeout(context.WithoutCancel(command), 5*time.Second)
		defer cancel()
		if _, err := (&timeoutTransport{tripper(silent), command}).RoundTrip(request(undo)); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 6*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

// TestALogWithoutALineIsFollowed: a kubelet answers when the container writes its first line.
func TestALogWithoutALineIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := tripper(func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(4 * time.Minute):
				return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		})
		follow := request(t.Context())
		follow.URL.RawQuery = "container=manager&follow=true"
		if _, err := (&timeoutTransport{quiet, t.Context()}).RoundTrip(follow); err != nil {
			t.Error(err)
		}
	})
}

// TestAWatchLastsLongerThanTheTimeout of an answer.
func TestAWatchLastsLongerThanTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		var seen context.Context
		watch := tripper(func(r *http.Request) (*http.Response, error) {
			seen = r.Context()
			return &http.Response{StatusCode: 200, Body: reader}, nil
		})
		answer, err := (&timeoutTransport{watch, t.Context()}).RoundTrip(request(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(10*answerTimeout, func() { _, _ = writer.Write([]byte("event")) })
		event := make([]byte, 5)
		if _, err := io.ReadFull(answer.Body, event); err != nil || seen.Err() != nil {
			t.Errorf("%v, %v", err, seen.Err())
		}
		if _ = answer.Body.Close(); seen.Err() == nil {
			t.Error("the context of the request outlives it")
		}
	})
}
