package faultproxy

import (
	"net/http"
	"time"
)

// Act is what happens to an exchange.
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
	// Hang does not forward the request and holds it until the client gives up or the proxy is closed.
	Hang
	// HangAfter forwards the request and holds the answer until the client gives up or the proxy is closed.
	HangAfter
	// Answer does not forward the request and answers with Status, ContentType and Body, or as Serve does.
	Answer
)

// String names the act, for records and messages.
func (a Act) String() string {
	return [...]string{"pass", "cut before", "cut after", "truncate", "hang", "hang after", "answer"}[a]
}

// Fault says what happens to one exchange. The zero value passes it on.
type Fault struct {
	Act Act
	// Delay is waited for before anything else.
	Delay time.Duration
	// Status, ContentType and Body are for Answer.
	Status      int
	ContentType string
	Body        []byte
	// Serve, if set, is for Answer: it answers whatever it likes, for as long as it likes.
	Serve http.HandlerFunc
	// Rewrite, if set, returns the body to forward instead of the client's.
	Rewrite func(body []byte) []byte
	// Edit, if set, returns the body to pass on instead of the server's.
	Edit func(answer []byte) []byte
	// After is called when the server's whole answer is here, before it is passed on, cut or held. Set on an answer that
	// never ends, such as a watch, it is not called.
	After func()
}

// whole reports whether the server's answer is needed as a whole before anything is passed on.
func (f Fault) whole() bool {
	return f.After != nil || f.Edit != nil || f.Act == CutAfter || f.Act == Truncate || f.Act == HangAfter
}
