package server

import (
	"bytes"
	"errors"
	stdlog "log"
	"time"

	"github.com/go-logr/logr"

	"github.com/codeconnect/vmgroup-operator/internal/seldom"
)

// serverLogInterval is how often what net/http logs is told of at most: whoever reaches a port causes it, by a TLS handshake that fails, and so does whoever
// answers at a member's address.
const serverLogInterval = time.Minute

// seldomLog is where net/http writes of what goes wrong with connections. The logger bounds the text.
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

// BoundStandardLog leads what libraries write into Go's own log into log, one line a minute. net/http has no other log for connections that it opens, and
// writes a line for each frame of HTTP/2 that it does not know: a server may send hundreds of thousands a second.
func BoundStandardLog(log logr.Logger) {
	stdlog.SetFlags(0)
	stdlog.SetOutput(&seldomLog{log: log, message: "A library reports"})
}
