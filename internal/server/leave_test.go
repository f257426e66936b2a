package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestAReplicaThatEndsAnswersAndHasItsCallersHangUp(t *testing.T) {
	l := &Leaving{Time: 50 * time.Millisecond}
	server := httptest.NewServer(l.handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	defer server.Close()
	call := func() (hangsUp bool) {
		t.Helper()
		response, err := server.Client().Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		return response.Body.Close() == nil && response.Close
	}
	if call() || l.Check(nil) != nil {
		t.Error("callers are sent away, or it is not ready, although it is not ending")
	}
	done := make(chan struct{})
	go func() {
		l.Leave(t.Context())
		close(done)
	}()
	for l.Check(nil) == nil {
		select {
		case <-done:
			if l.Check(nil) == nil { // all of it can have passed since the check above
				t.Fatal("it left without saying so")
			}
		default:
		}
	}
	if !call() {
		t.Error("a call while it is ending keeps its connection")
	}
	<-done
	if !call() {
		t.Error("a call afterwards keeps its connection")
	}
}

func TestWithoutWebhooksNothingIsWaitedFor(t *testing.T) {
	l := &Leaving{}
	l.Leave(context.Background())
	if l.Check(nil) != nil {
		t.Error("it said that it is leaving")
	}
}
