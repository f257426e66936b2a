package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// answerTimeout is how long a server may take to begin its answer, unless --request-timeout is set. Lists of a large fleet take some seconds.
const answerTimeout = 30 * time.Second

// errNoAnswer is the cause of a request that ends because the server does not answer.
var errNoAnswer = fmt.Errorf("no answer within %s: %w", answerTimeout, context.DeadlineExceeded)

// timeoutTransport ends requests whose answer does not begin in time. Watches and logs can last longer. Requests without a context of their own, such as those of
// discovery, end with command.
type timeoutTransport struct {
	next    http.RoundTripper
	command context.Context
}

// RoundTrip implements [http.RoundTripper].
func (t *timeoutTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	parent := request.Context()
	if parent.Done() == nil {
		parent = t.command
	}
	if request.URL.Query().Get("follow") == "true" {
		return t.next.RoundTrip(request) // the answer begins with the first line of the log
	}
	ctx, cancel := context.WithCancelCause(parent)
	timer := time.AfterFunc(answerTimeout, func() { cancel(errNoAnswer) })
	answer, err := t.next.RoundTrip(request.WithContext(ctx))
	timer.Stop()
	if err != nil {
		cause := context.Cause(ctx)
		cancel(nil)
		if cause != nil {
			return nil, cause
		}
		return nil, err
	}
	answer.Body = &body{answer.Body, cancel}
	return answer, nil
}

// body ends the context of its request once it is read.
type body struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Close implements [io.Closer].
func (b *body) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}
