package remote

import (
	"net/http"
	"sync/atomic"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Token is a bearer token that can be replaced while requests use it. It is safe for concurrent use.
type Token struct{ value atomic.Pointer[string] }

// NewToken returns a Token with a value.
func NewToken(value string) *Token {
	t := &Token{}
	t.value.Store(&value)
	return t
}

// Replace changes the value for later requests, and reports whether it was another one. Requests and watches that are open
// continue: an API server checks a token when a request begins.
func (t *Token) Replace(value string) bool { return *t.value.Swap(&value) != value }

// Value of the token.
func (t *Token) Value() string { return *t.value.Load() }

// bearer authenticates each request with the present value of a token.
type bearer struct {
	http.RoundTripper
	token *Token
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = utilnet.CloneRequest(request)
	request.Header.Set("Authorization", "Bearer "+b.token.Value())
	return b.RoundTripper.RoundTrip(request)
}

// WrappedRoundTripper lets client-go find the transport below.
func (b bearer) WrappedRoundTripper() http.RoundTripper { return b.RoundTripper }
