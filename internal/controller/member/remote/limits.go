package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Limits of the data that a member's API server can send. All must be set.
type Limits struct {
	// Object bounds one object, and all other answers except lists. An object in a list has no more bytes, either.
	Object Bound
	// Page bounds one page of a list. A page has [PageSize] objects.
	Page Bound
	// Headers bounds the bytes of an answer's headers.
	Headers int
	// Kept bounds the bytes of memory for all cached objects of the member, of all kinds together. It bounds each list, too.
	Kept int64
	// Rate and Burst bound the bytes that are read, per second and at once. Excess bytes are read later.
	Rate, Burst int
}

// Bound is the maximum size of an answer: Bytes, of which the decoder holds several copies, and the Weight of the decoded
// values, as [untrusted.Scanner] estimates it.
type Bound struct{ Bytes, Weight int64 }

// PageSize is the number of objects per request.
const PageSize = 100

// DefaultKept is the memory limit for the cached objects of one member. A group with three VMs needs 4 KiB.
const DefaultKept = 96 << 20

// DefaultLimits are enough for a member with 20,000 groups.
func DefaultLimits() Limits { return LimitsFor(DefaultKept) }

// LimitsFor are the limits of a member whose cached objects can need that many bytes of memory.
//
// An object in etcd has at most 1.5 MiB, and API servers accept no body of more than 3 MiB. It weighs 17 MiB if it is all
// labels of three letters: one such object must not make a member unusable. Several passes work on groups at a time, and each
// makes copies of its group in JSON.
//
// A list must end within a minute, so that members with a higher limit are read faster. Lists are larger than their cached objects:
// they have managed fields and annotations of others. A list of two and a half times Kept is read within half a minute.
func LimitsFor(kept int64) Limits {
	return Limits{
		Object: Bound{Bytes: 3 << 20, Weight: 24 << 20}, Page: Bound{Bytes: 32 << 20, Weight: 48 << 20},
		Headers: 64 << 10, Kept: kept, Rate: int(max(kept/16, leastRate)), Burst: int(max(kept, leastBurst)),
	}
}

// The minimum rate and burst for each member, whatever its memory limit: its largest answers must end in time.
const leastRate, leastBurst = 4 << 20, 64 << 20

// mostLists is the number of concurrent reads of list pages of one member.
const mostLists = 2

// Guard keeps an incarnation of a member within its limits. Exceeding one ends the incarnation: all answers of such a server are equally
// untrustworthy. It is safe for concurrent use.
type Guard struct {
	Limits Limits
	ctx    context.Context
	refuse context.CancelCauseFunc
	// Pace is shared by all incarnations of the member.
	Pace  *Pace
	lists chan struct{}
}

// NewGuard returns the guard of one incarnation.
func NewGuard(limits Limits, pace *Pace) *Guard {
	g := &Guard{Limits: limits, Pace: pace, lists: make(chan struct{}, mostLists)}
	g.ctx, g.refuse = context.WithCancelCause(context.Background())
	return g
}

// Context ends after a refusal.
func (g *Guard) Context() context.Context { return g.ctx }

// Err is the first refusal, or nil.
func (g *Guard) Err() error { return context.Cause(g.ctx) }

// Refuse records a refusal, and returns it.
func (g *Guard) Refuse(err error) error {
	g.refuse(err)
	return err
}

// LimitError names the limit that a member's API server exceeded, which can be one of Kubernetes.
type LimitError struct {
	// What exceeded the limit, as the beginning of a sentence.
	What string
	// Limit as text for users.
	Limit string
	// Remedy is how to resolve the problem, as a sentence.
	Remedy string
}

// Error returns a sentence that names the limit, without the remedy.
func (e *LimitError) Error() string { return e.What + "; the limit is " + e.Limit }

// RedirectError means that an answer redirected to another address. The credentials are valid for one address only.
type RedirectError struct {
	Status int
	// To is the target address, without its path, which can hold a secret.
	To string
}

// Error names the target of the redirect.
func (e *RedirectError) Error() string {
	return fmt.Sprintf("the answer (%d) leads to %q; redirects are not followed", e.Status, e.To)
}

// AnswerError means that an API server does not give answers of this kind.
type AnswerError struct {
	Status int
	// What is wrong with the answer, as text for users. It does not change from answer to answer, unless the server changes.
	What string
}

// Error describes the answer.
func (e *AnswerError) Error() string {
	return fmt.Sprintf("the answer (%d) has %s", e.Status, e.What)
}

// notJSON is the error of an answer with that Content-Type.
func notJSON(status int, kind string) *AnswerError {
	return &AnswerError{Status: status, What: fmt.Sprintf("the type %q and not JSON, which was asked for", untrusted.Text(kind, 60))}
}

// KindError means that a watch reports objects of a kind that was not requested.
type KindError struct {
	// Watched is the requested kind.
	Watched string
}

// Error names the watch.
func (e *KindError) Error() string {
	return "the watch of " + e.Watched + "s contains objects of another kind"
}

// refusedProblem is the problem for a refusal, nil if err is no refusal.
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
