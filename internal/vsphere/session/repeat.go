package session

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/delay"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// pauses are the pauses between the tries of a read. If a third of all calls fail, six tries in a row fail once in 700 cases. An unreachable
// server is detected after a second and a half.
var pauses = []time.Duration{
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond,
}

// Repeat runs a read until it succeeds, fails for a permanent reason, or has failed too often, and returns the last error. A single failure of
// an overloaded vCenter means little, and a new session costs a dozen calls. Never use Repeat for a change.
func Repeat(ctx context.Context, read func() error) error {
	for _, wait := range pauses {
		err := read()
		if !Passing(err) || delay.For(ctx, wait) != nil {
			return err
		}
	}
	return read()
}

// Passing reports whether a repetition of a read can succeed at once after err: its connection broke, or the server had an internal problem. An
// answer to the request itself is final. A call that timed out has already used more time than all tries can.
func Passing(err error) bool {
	var ours *vsphere.Error
	if err == nil || errors.As(err, &ours) || ranOut(err) || IsCertificate(err) {
		return false
	}
	return !IsFault(err) || isHiccup(err)
}

// isHiccup reports whether a fault concerns the server's own condition.
func isHiccup(err error) bool {
	var (
		timedOut types.BaseTimedout
		host     types.BaseHostCommunication
	)
	if fault.Is(err, &types.SystemError{}) {
		return true
	}
	if _, ok := fault.As(err, &timedOut); ok {
		return true
	}
	_, ok := fault.As(err, &host)
	return ok
}

// IsFault reports whether the server answered with a fault. A refused request had no effect.
func IsFault(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if soap.IsSoapFault(err) || soap.IsVimFault(err) {
			return true
		}
	}
	return false
}

// ranOut reports whether a call timed out or its caller canceled it.
func ranOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}

// forStrangers reports whether vCenter answered a read as one without a login. vCenter then does not refuse the call but returns the fault
// NotAuthenticated for each hidden property. A caller would take that for a missing privilege.
func forStrangers(res soap.HasFault) bool {
	var objects []types.ObjectContent
	switch body := res.(type) {
	case *methods.RetrievePropertiesBody:
		if body.Res != nil {
			objects = body.Res.Returnval
		}
	case *methods.RetrievePropertiesExBody:
		if body.Res != nil && body.Res.Returnval != nil {
			objects = body.Res.Returnval.Objects
		}
	}
	return slices.ContainsFunc(objects, func(o types.ObjectContent) bool {
		return slices.ContainsFunc(o.MissingSet, func(m types.MissingProperty) bool {
			_, lost := m.Fault.Fault.(*types.NotAuthenticated)
			return lost
		})
	})
}
