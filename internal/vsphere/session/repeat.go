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

// pauses are those between the tries of a read. A third of all calls may fail, and six tries in a row fail once in 700 times;
// a server that is away is known to be after a second and a half.
var pauses = []time.Duration{
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond,
}

// Repeat runs a read until it succeeds, fails for a reason that does not pass, or has failed too often; it returns the last
// error. A single failure says little about an overloaded vCenter, and a new session costs a dozen calls.
// What changes something must never be run by it.
func Repeat(ctx context.Context, read func() error) error {
	for _, wait := range pauses {
		err := read()
		if !Passing(err) || delay.For(ctx, wait) != nil {
			return err
		}
	}
	return read()
}

// Passing reports whether a read that failed with err may succeed at once when it is repeated: its connection broke, or the server
// was busy with itself. An answer about the request itself stays what it is. A call that ran out of time has had more of it than tries may take.
func Passing(err error) bool {
	var ours *vsphere.Error
	if err == nil || errors.As(err, &ours) || ranOut(err) || IsCertificate(err) {
		return false
	}
	return !IsFault(err) || isHiccup(err)
}

// isHiccup recognizes the faults that are about the server's own condition.
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

// IsFault reports whether the server answered with a fault: what it refused did not happen.
func IsFault(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if soap.IsSoapFault(err) || soap.IsVimFault(err) {
			return true
		}
	}
	return false
}

// ranOut reports whether a call ended because its time was over or its caller gave up.
func ranOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}

// forStrangers reports whether vCenter answered a read as one without a login. It then refuses no call: it names the
// fault NotAuthenticated for each property that it does not show. A caller would take that for a missing privilege.
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
