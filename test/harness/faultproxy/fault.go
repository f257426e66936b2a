package faultproxy

import (
	"net/http"
	"time"
)

// Act is the treatment of an exchange.
type Act int

// Acts.
const (
	// Pass forwards the request and its answer.
	Pass Act = iota
	// CutBefore cuts the connection; the request is not forwarded.
	CutBefore
	// CutAfter forwards the request, waits for the server's whole answer and cuts the connection.
	CutAfter
	// Truncate forwards the request, passes on half of the answer's body and cuts the connection.
	Truncate
	// Hang does not forward the request. It holds the request until the client or the proxy closes.
	Hang
	// HangAfter forwards the request and holds the answer until the client or the proxy closes.
	HangAfter
	// Answer does not forward the request. It answers with Status, ContentType and Body, or calls Serve.
	Answer
)

// String names the act, for records and messages.
func (a Act) String() string {
	return [...]string{"pass", "cut before", "cut after", "truncate", "hang", "hang after", "answer"}[a]
}

// Fault is the treatment of one exchange. The zero value passes it on.
type Fault struct {
	Act Act
	// Delay is the time before any other action.
	Delay time.Duration
	// Status, ContentType and Body are for Answer.
	Status      int
	ContentType string
	Body        []byte
	// Serve, if set, is for Answer. It writes any answer, for any duration.
	Serve http.HandlerFunc
	// Rewrite, if set, returns the body to forward instead of the client's.
	Rewrite func(body []byte) []byte
	// Edit, if set, returns the body to pass on instead of the server's.
	Edit func(answer []byte) []byte
	// After is called when the server's whole answer has arrived, before it is passed on, cut or held. For an answer that never ends, such
	// as a watch, it is not called.
	After func()
}

// whole reports whether the proxy needs the server's whole answer before it passes anything on.
func (f Fault) whole() bool {
	return f.After != nil || f.Edit != nil || f.Act == CutAfter || f.Act == Truncate || f.Act == HangAfter
}
