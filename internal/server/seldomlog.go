package server

import (
	"bytes"
	"errors"
	stdlog "log"
	"time"

	"github.com/go-logr/logr"

	"github.com/codeconnect/vmgroup-operator/internal/seldom"
)

// serverLogInterval is the minimum time between log lines of net/http: any client that reaches a port can cause them by a failed TLS handshake, and so can
// any server at a member's address.
const serverLogInterval = time.Minute

// seldomLog receives net/http's log lines about failed connections. The logger limits the text.
type seldomLog struct {
	log     logr.Logger
	message string
	told    seldom.Told[struct{}]
}

// Write takes one line.
func (s *seldomLog) Write(line []byte) (int, error) {
	if more, tell := s.told.Next(struct{}{}, time.Now(), serverLogInterval); tell {
		s.log.Error(errors.New(string(bytes.TrimSpace(line))), s.message, "suppressed", more)
	}
	return len(line), nil
}

// BoundStandardLog redirects Go's standard log, which libraries use, to log, with one line a minute. net/http has no other log for outgoing connections. It
// writes a line for each unknown HTTP/2 frame, and a server can send hundreds of thousands a second.
func BoundStandardLog(log logr.Logger) {
	stdlog.SetFlags(0)
	stdlog.SetOutput(&seldomLog{log: log, message: "A library reports"})
}
