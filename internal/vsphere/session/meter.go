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
	// Sent reports a request, its result and the time until the answer.
	Sent(method string, code Code, took time.Duration)
}

// Code is the result of a request.
type Code string

// Codes.
const (
	CodeOK    Code = "ok"
	CodeFault Code = "fault"
	// CodeUnauthenticated: the login was rejected or has ended.
	CodeUnauthenticated Code = "unauthenticated"
	CodeTimeout         Code = "timeout"
	// CodeTransport: there was no answer, or an unreadable one.
	CodeTransport Code = "transport"
	// CodeFenced: the request was not sent.
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

// count omits requests that this process canceled: they have no result.
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
