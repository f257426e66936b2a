package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Limits of what a member's API server may send. All must be set.
type Limits struct {
	// Object bounds one object, and all else that is no list. An object in a list has no more bytes, either.
	Object Bound
	// Page bounds one page of a list. A page has [PageSize] objects.
	Page Bound
	// Headers bounds the bytes of an answer's headers.
	Headers int
	// Kept bounds how many bytes of memory the cached objects of the member may need, all kinds together. It bounds each list, too.
	Kept int64
	// Rate and Burst bound the bytes that are read, by the second and at once. Whoever sends more is read later.
	Rate, Burst int
}

// Bound is how large an answer may be: Bytes, of which the decoder holds several copies, and the Weight of what they
// become, as [untrusted.Scanner] estimates it.
type Bound struct{ Bytes, Weight int64 }

// PageSize is how many objects are asked for at once.
const PageSize = 100

// DefaultKept is how much memory the cached objects of one member may need. A group with three VMs needs 4 KiB.
const DefaultKept = 96 << 20

// DefaultLimits are enough for a member with 20,000 groups.
func DefaultLimits() Limits { return LimitsFor(DefaultKept) }

// LimitsFor are the limits of a member whose cached objects may need that many bytes of memory.
//
// An object in etcd has at most 1.5 MiB, and API servers take no body of more than 3 MiB. It weighs 17 MiB if it is all labels of three letters: one such object
// must not be the end of a member. Several passes work on groups at a time, and each makes copies of its group in JSON.
//
// A list must end within a minute, so that who may have more is read faster. Lists are larger than what is kept of them: they have managed fields and
// annotations of others. One of two and a half times Kept is read within half a minute.
func LimitsFor(kept int64) Limits {
	return Limits{
		Object: Bound{Bytes: 3 << 20, Weight: 24 << 20}, Page: Bound{Bytes: 32 << 20, Weight: 48 << 20},
		Headers: 64 << 10, Kept: kept, Rate: int(max(kept/16, leastRate)), Burst: int(max(kept, leastBurst)),
	}
}

// What is read of each member, whatever it may keep: its largest answers must end in time.
const leastRate, leastBurst = 4 << 20, 64 << 20

// mostLists is how many pages of lists of one member are read at a time.
const mostLists = 2

// Guard keeps an incarnation of a member within its limits. What goes beyond them ends the incarnation: no answer of such a server is worth
// more than another. It is safe for concurrent use.
type Guard struct {
	Limits Limits
	ctx    context.Context
	refuse context.CancelCauseFunc
	// Pace is that of all incarnations of the member.
	Pace  *Pace
	lists chan struct{}
}

// NewGuard returns the guard of one incarnation.
func NewGuard(limits Limits, pace *Pace) *Guard {
	g := &Guard{Limits: limits, Pace: pace, lists: make(chan struct{}, mostLists)}
	g.ctx, g.refuse = context.WithCancelCause(context.Background())
	return g
}

// Context ends when something was refused.
func (g *Guard) Context() context.Context { return g.ctx }

// Err is what was refused first, or nil.
func (g *Guard) Err() error { return context.Cause(g.ctx) }

// Refuse notes that something was refused, and returns it.
func (g *Guard) Refuse(err error) error {
	g.refuse(err)
	return err
}

// LimitError says which limit a member's API server exceeded, be it one of Kubernetes.
type LimitError struct {
	// What was too much, as the beginning of a sentence.
	What string
	// Limit in the words of a person.
	Limit string
	// Remedy is what to do about it, as a sentence.
	Remedy string
}

// Error is a sentence without the remedy.
func (e *LimitError) Error() string { return e.What + "; the limit is " + e.Limit }

// RedirectError says that an answer led elsewhere. The credentials are for one address, and not for those that it names.
type RedirectError struct {
	Status int
	// To is the address that it names, without its path, which may hold a secret.
	To string
}

// Error says where the answer leads.
func (e *RedirectError) Error() string {
	return fmt.Sprintf("the answer (%d) leads to %q; redirects are not followed", e.Status, e.To)
}

// AnswerError says that an answer is not of a kind that an API server gives.
type AnswerError struct {
	Status int
	// What the answer is or has, in the words of a person. It does not change from answer to answer, unless the server changes.
	What string
}

// Error says what the answer is.
func (e *AnswerError) Error() string {
	return fmt.Sprintf("the answer (%d) has %s", e.Status, e.What)
}

// notJSON is the error of an answer with that Content-Type.
func notJSON(status int, kind string) *AnswerError {
	return &AnswerError{Status: status, What: fmt.Sprintf("the type %q and not JSON, which was asked for", untrusted.Text(kind, 60))}
}

// KindError says that a watch tells of objects that nobody asked for.
type KindError struct {
	// Watched is the kind that was asked for.
	Watched string
}

// Error says which watch it is.
func (e *KindError) Error() string {
	return "the watch of " + e.Watched + "s contains objects of another kind"
}

// refusedProblem is the problem with what was refused, nil if err is nothing of that.
func refusedProblem(host string, err error) *Problem {
	var (
		limit    *LimitError
		redirect *RedirectError
		answer   *AnswerError
		address  *AddressError
		kind     *KindError
	)
	const stays = "The operator has left the member; its groups and VMs stay as they are, and it is tried again every 30 seconds."
	switch {
	case errors.As(err, &limit):
		return &Problem{Reason: v1alpha1.ReasonLimitExceeded, Lasting: true, Cause: err, Message: fmt.Sprintf(
			"%s exceeds a limit: %s. %s %s", host, limit.Error(), stays, limit.Remedy)}
	case errors.As(err, &redirect):
		return &Problem{Reason: v1alpha1.ReasonRedirectRefused, Lasting: true, Cause: err, Message: fmt.Sprintf(
			"%s answers with a redirect to %q. It was not followed, since the credentials of the member would go there. %s "+
				"Write the address of the API server itself into the kubeconfig's field server.", host, redirect.To, stays)}
	case errors.As(err, &address):
		return &Problem{Reason: v1alpha1.ReasonAddressRefused, Lasting: true, Cause: err, Message: fmt.Sprintf(
			"%s leads to the address %s, to which the operator must not connect for members. Correct the kubeconfig's field server, "+
				"or let the operator connect there: --member-addresses of the manager, manager.memberAddresses of the chart.", host, address.Address)}
	case errors.As(err, &kind):
		return &Problem{Reason: v1alpha1.ReasonMemberUnreachable, Lasting: true, Cause: err, Message: fmt.Sprintf(
			"%s does not answer as a Kubernetes API server does: %s. %s Check the kubeconfig's field server, and proxies and load balancers in between.",
			host, kind.Error(), stays)}
	case errors.As(err, &answer):
		return &Problem{Reason: v1alpha1.ReasonMemberUnreachable, Cause: err, Message: fmt.Sprintf(
			"%s does not answer as a Kubernetes API server does: an answer has %s. Check the kubeconfig's field server, "+
				"and proxies and load balancers in between.", host, answer.What)}
	}
	return nil
}
