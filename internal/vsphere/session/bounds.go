package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	kib, mib = 1 << 10, 1 << 20
	// mostHeaders limits the header of an answer.
	mostHeaders = 64 * kib
	// answerTime is the time limit from the first to the last byte of an answer. The call's own time limit also applies.
	answerTime = time.Minute
	// listingWeight limits all pages of a listing together. 20,000 VMs weigh about two thirds of it.
	listingWeight = 256 * mib
)

// bound is the maximum size of an answer.
type bound struct{ bytes, weight int64 }

var (
	// stranger limits the answers before a successful login.
	stranger = bound{64 * kib, mib}
	// ordinary is for answers that are no lists. small is for changes, whose answer is a task reference.
	ordinary = bound{4 * mib, 16 * mib}
	small    = bound{mib, 4 * mib}
	// page is for a page of a listing: 1,000 objects, or 500 updates.
	page = bound{32 * mib, 64 * mib}
)

// bounds are the limits of the methods that return lists.
var bounds = map[string]bound{
	"RetrieveProperties":           page,
	"RetrievePropertiesEx":         page,
	"ContinueRetrievePropertiesEx": page,
	"WaitForUpdatesEx":             page,
	"QueryEvents":                  page,
}

// expected describes the answer to a call of a logged-in session.
type expected struct {
	// body is the type for decoding the answer.
	body reflect.Type
}

type expectedKey struct{}

// expect adds the answer's type to a context. Without the type, the limit before a login applies.
func expect(ctx context.Context, res soap.HasFault) context.Context {
	return context.WithValue(ctx, expectedKey{}, expected{body: reflect.TypeOf(res).Elem()})
}

type listingKey struct{}

// OneListing returns a context for the calls that read the pages of one listing. It limits the pages together, so that a server that never sends a last page
// cannot fill the memory.
func OneListing(ctx context.Context) context.Context {
	return context.WithValue(ctx, listingKey{}, new(atomic.Int64))
}

// bounded limits the answers: see ADR 89.
type bounded struct {
	next    http.RoundTripper
	time    time.Duration
	cookies cookies
	// pageBytes is Config.PageBytes.
	pageBytes int64
}

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	out := req.WithContext(ctx)
	answer := &boundedBody{ctx: ctx, cancel: cancel, time: b.time, limit: stranger}
	var err error
	if answer.method, err = readMethod(out); err != nil {
		cancel(nil)
		return nil, err
	}
	answer.scanner.known = typesByName(types.TypeFunc())
	if e, ok := ctx.Value(expectedKey{}).(expected); ok {
		answer.limit, answer.scanner.body = b.boundOf(answer.method), e.body
		answer.changes = !ReadOnly(answer.method)
	}
	answer.listing, _ = ctx.Value(listingKey{}).(*atomic.Int64)
	res, err := b.next.RoundTrip(out)
	if err != nil {
		cancel(nil)
		if strings.Contains(err.Error(), "response headers exceeded") { // net/http has no type for it
			err = answer.refuse("has a header of more than " + size(mostHeaders))
		}
		return nil, err
	}
	answer.ReadCloser = res.Body
	// An endless stream of empty compressed blocks would be unpacked before anything counts it. The operator requests no compression.
	if encoding := res.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		_ = answer.Close()
		return nil, answer.refuse("is compressed, which the operator did not ask for")
	}
	b.cookies.filter(res.Header)
	res.Body = answer
	return res, nil
}

// boundOf returns the limit of a method's answer after a login.
func (b *bounded) boundOf(method string) bound {
	if limit, ok := bounds[method]; ok {
		if b.pageBytes > 0 {
			limit.bytes = b.pageBytes
		}
		return limit
	}
	if ReadOnly(method) {
		return ordinary
	}
	return small
}

// boundedBody is the body of an answer.
type boundedBody struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // that of the request, which ends with the body
	cancel context.CancelCauseFunc
	method string
	limit  bound
	time   time.Duration
	// changes is true for a call that can have changed something.
	changes bool
	// listing is the weight of the pages of the same listing. It is nil if the answer is no page.
	listing *atomic.Int64

	scanner scanner
	bytes   int64
	timer   *time.Timer
	failed  error
}

var errTrickles = errors.New("the answer takes too long")

// Read implements io.Reader. With an error it returns no data, because a partial answer is useless.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.timer == nil {
		b.timer = time.AfterFunc(b.time, func() { b.cancel(errTrickles) })
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed = b.broken(err)
		return 0, b.failed
	}
	if failed := b.weigh(p[:n]); failed != nil {
		b.failed = failed
		b.cancel(failed) // the connection is neither read nor reused
		return 0, failed
	}
	return n, err
}

// broken distinguishes a too slow answer from a broken connection.
func (b *boundedBody) broken(err error) error {
	if errors.Is(context.Cause(b.ctx), errTrickles) {
		return b.refuse(fmt.Sprintf("did not end within %s", b.time))
	}
	if b.bytes > 0 && errors.Is(err, context.DeadlineExceeded) {
		return b.refuse("did not end within the time of the call")
	}
	return err
}

// weigh adds the bytes that were read to the weight.
func (b *boundedBody) weigh(p []byte) error {
	before := b.scanner.weight
	if b.bytes += int64(len(p)); b.bytes > b.limit.bytes {
		return b.refuse("has more than " + size(b.limit.bytes))
	}
	if err := b.scanner.scan(p); errors.Is(err, errNoSOAP) {
		return err
	} else if err != nil {
		return b.refuse("has " + err.Error())
	}
	if b.scanner.weight > b.limit.weight {
		return b.refuse(fmt.Sprintf("needs more than %s of memory", size(b.limit.weight)))
	}
	if b.listing != nil && b.listing.Add(b.scanner.weight-before) > listingWeight {
		return b.refuse(fmt.Sprintf("and the pages before it need more than %s of memory", size(listingWeight)))
	}
	return nil
}

// refuse returns the error of an answer that is not read to its end.
func (b *boundedBody) refuse(what string) error {
	return &vsphere.Error{
		Kind: vsphere.KindLimitExceeded, Op: "call " + b.method, OutcomeUnknown: b.changes,
		Err: &LimitError{Method: b.method, Limit: what},
	}
}

// Close implements io.Closer.
func (b *boundedBody) Close() error {
	if b.timer != nil {
		b.timer.Stop()
	}
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}

// LimitError is the cause of an error of kind LimitExceeded.
type LimitError struct {
	// Method of the call, and the exceeded Limit of its answer.
	Method, Limit string
}

// Error implements error.
func (e *LimitError) Error() string { return "the answer " + e.Limit }

// mostOfRequest is the part of a request that is read to find its method.
const mostOfRequest = 4 * kib

// readMethod returns the method that a request calls: the element in its body.
func readMethod(req *http.Request) (string, error) {
	otherwise := req.Method + " " + req.URL.Path
	if req.Body == nil || req.Body == http.NoBody {
		return otherwise, nil
	}
	head, err := io.ReadAll(io.LimitReader(req.Body, mostOfRequest))
	if err != nil {
		return "", fmt.Errorf("read the request: %w", err)
	}
	req.Body = &again{io.MultiReader(bytes.NewReader(head), req.Body), req.Body}
	_, body, _ := bytes.Cut(head, []byte("<Body>"))
	if body, ok := bytes.CutPrefix(body, []byte("<")); ok {
		if end := bytes.IndexAny(body, " />"); end > 0 {
			return string(body[:end]), nil
		}
	}
	return otherwise, nil
}

// again is a body with a part that was read and put back.
type again struct {
	io.Reader
	io.Closer
}

// size returns a number of bytes as text.
func size(n int64) string {
	if n >= mib {
		return fmt.Sprintf("%d MiB", n/mib)
	}
	return fmt.Sprintf("%d KiB", n/kib)
}
