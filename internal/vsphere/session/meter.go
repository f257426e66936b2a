package session

import (
	"context"
	"errors"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Meter counts requests. It must not block.
type Meter interface {
	// Sent reports a request, its outcome and the time until the answer.
	Sent(method string, code Code, took time.Duration)
}

// Code is the outcome of a request.
type Code string

// Codes.
const (
	CodeOK    Code = "ok"
	CodeFault Code = "fault"
	// CodeUnauthenticated is a login that was rejected or has ended.
	CodeUnauthenticated Code = "unauthenticated"
	CodeTimeout         Code = "timeout"
	// CodeTransport: no answer, or none that could be read.
	CodeTransport Code = "transport"
	// CodeFenced requests were not sent.
	CodeFenced Code = "fenced"
)

// metered sends the requests of a session, and counts them.
type metered struct{ *Session }

// RoundTrip implements soap.RoundTripper.
func (m metered) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	began := m.now()
	err := m.soap.RoundTrip(ctx, req, res)
	m.count(methodOf(req), err, m.now().Sub(began))
	return err
}

// count leaves out requests that this process gave up: they have no outcome.
func (s *Session) count(method string, err error, took time.Duration) {
	if s.cfg.Meter != nil && !errors.Is(err, context.Canceled) {
		s.cfg.Meter.Sent(method, codeOf(err), took)
	}
}

func codeOf(err error) Code {
	switch {
	case err == nil:
		return CodeOK
	case vsphere.KindOf(err) == vsphere.KindFenced:
		return CodeFenced
	case fault.Is(err, &types.NotAuthenticated{}) || fault.Is(err, &types.InvalidLogin{}):
		return CodeUnauthenticated
	case IsFault(err):
		return CodeFault
	case ranOut(err):
		return CodeTimeout
	}
	return CodeTransport
}
