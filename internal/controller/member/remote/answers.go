package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

const (
	// mostRead is how much of an answer is read at a time.
	mostRead = 32 << 10
	// mostPlain bounds an answer that is no JSON. It reports an error, of which 2 KiB are shown.
	mostPlain = 64 << 10
	// mostRetryAfter is the maximum pause in seconds that an answer can request. client-go sleeps for the requested time, up to
	// ten times for a request, and the requests of informers have no deadline. API servers request one second under load, and five
	// when they stop.
	mostRetryAfter = 5
	// eventCost is the minimum number of bytes that an event of a watch counts for when it is read at a pace. A small one costs as
	// much CPU as one of a group of three VMs, which is that large: so honest members are not read more slowly because of it.
	eventCost = 4 << 10
	jsonType  = "application/json"

	acceptEncoding, identity = "Accept-Encoding", "identity"
)

// errSlow: an answer took longer than any valid one does.
var errSlow = fmt.Errorf("the answer did not end in time: %w", context.DeadlineExceeded)

// answers passes on the valid answers of an API server, and refuses the rest: redirects, answers that are not JSON, and answers
// beyond the limits. It requests uncompressed bodies, and refuses compressed ones. The decoders that come after it allocate in
// proportion to their input.
type answers struct {
	http.RoundTripper
	guard *Guard
	// base is the path of the API server's address, "" if it has none.
	base string
	// whole bounds the duration of an answer that is no watch, and of one event of a watch.
	whole time.Duration
}

// RoundTrip implements http.RoundTripper.
func (a answers) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	ctx, cancel := context.WithCancelCause(request.Context())
	body := &boundedBody{guard: a.guard, ctx: ctx, what: describe(request.URL.Path, query)}
	timer := time.AfterFunc(a.whole, func() { cancel(errSlow) })
	body.end = func() { timer.Stop(); cancel(nil) }
	body.scanner.List, body.scanner.KeepsFields = query.Has("limit"), a.isTyped(request.URL.Path)
	if body.scanner.List {
		if err := a.guard.beginList(ctx); err != nil {
			body.end()
			closeBody(request.Body)
			return nil, err
		}
		body.end = func() { a.guard.endList(); timer.Stop(); cancel(nil) }
	}
	request = request.WithContext(ctx)
	request.Header = request.Header.Clone()
	request.Header.Set("Accept", onlyJSON(request.Header))
	request.Header.Set(acceptEncoding, identity) // net/http would request gzip, and decompress it
	response, err := a.RoundTripper.RoundTrip(request)
	if err != nil {
		err = body.cause(err)
		body.end()
		return nil, err
	}
	body.ReadCloser = response.Body
	if isWatch(query) && response.StatusCode == http.StatusOK {
		body.stream, body.patience = true, a.whole
		timer.Stop()
	}
	if err := a.check(response, body); err != nil {
		_ = body.Close()
		return nil, err
	}
	response.Body = body
	return response, nil
}

// isTyped reports whether the object of a path is decoded into types of Kubernetes, which keep the fields of managed fields as
// JSON. Objects of a bundle are decoded into maps. They are cluster-scoped, and of none of the groups and kinds that are named
// here. So an unknown path counts as one of them.
func (a answers) isTyped(path string) bool {
	path, ok := strings.CutPrefix(path, a.base)
	if kind, own := strings.CutPrefix(path, "/apis/"+v1alpha1.GroupVersion.String()+"/"); own {
		return ok && (kind == "vmgroups" || strings.HasPrefix(kind, "namespaces/"))
	}
	return ok && strings.HasPrefix(path, "/api/v1/")
}

func isWatch(query url.Values) bool {
	watch := query.Get("watch")
	return watch == "true" || watch == "1"
}

// check refuses an answer whose headers are invalid, and chooses the maximum size of its body.
func (a answers) check(response *http.Response, body *boundedBody) error {
	if n := headerBytes(response.Header); n > a.guard.Limits.Headers {
		return a.guard.Refuse(&LimitError{What: "the headers of the answer for " + body.what + " are too long",
			Limit: bytesText(int64(a.guard.Limits.Headers)), Remedy: "Check the member's API server, and proxies and load balancers in between."})
	}
	if response.StatusCode < 200 || response.StatusCode > 599 {
		// HTTP/2 accepts any number, and metrics that count answers by status keep a series for each.
		return &AnswerError{Status: response.StatusCode, What: "a status that HTTP does not have"}
	}
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		return a.guard.Refuse(&RedirectError{Status: response.StatusCode, To: origin(response.Header.Get("Location"))})
	}
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, identity) {
		return a.guard.Refuse(&AnswerError{Status: response.StatusCode, What: fmt.Sprintf("the encoding %q, which was not asked for", untrusted.Text(encoding, 60))})
	}
	boundRetryAfter(response.Header)
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	isJSON := err == nil && kind == jsonType
	switch {
	case !isJSON && response.StatusCode < 300 && response.StatusCode != http.StatusNoContent:
		return notJSON(response.StatusCode, response.Header.Get("Content-Type"))
	case !isJSON:
		// client-go decodes an error by its type, whatever was requested; as text it is reported and not decoded.
		response.Header.Set("Content-Type", "text/plain")
		body.limit = Bound{Bytes: mostPlain, Weight: math.MaxInt64}
	case body.scanner.List:
		body.limit = a.guard.Limits.Page
	default:
		body.limit = a.guard.Limits.Object
	}
	return nil
}

// boundedBody is an answer that is read only up to its limit.
type boundedBody struct {
	io.ReadCloser
	guard *Guard
	ctx   context.Context
	// what describes it to users.
	what  string
	limit Bound
	// stream: each value has its own limit, and patience to arrive.
	stream   bool
	patience time.Duration
	scanner  untrusted.Scanner
	// began is when the first byte of a value of a stream arrived, zero between values.
	began time.Time
	// extra is the cost of the events that ended in the last read, beyond their bytes.
	extra int
	end   func()
}

// Read returns a [*LimitError] if the answer exceeds a limit.
func (b *boundedBody) Read(p []byte) (int, error) {
	for {
		n, err := b.ReadCloser.Read(p[:min(len(p), mostRead)])
		b.guard.Pace.inBody(n)
		b.extra = 0
		kept, refused := b.weigh(p[:n])
		if refused != nil {
			return 0, b.guard.Refuse(refused)
		}
		bodies := b.guard.Pace.bodies
		if bodies.WaitN(b.ctx, min(n+b.extra, bodies.Burst())) != nil && err == nil {
			err = cmp.Or(context.Cause(b.ctx), errSlow)
		}
		if kept > 0 || n == 0 || err != nil {
			return kept, b.cause(err)
		}
	}
}

// cause returns the timeout behind an error of the connection, if there is one.
func (b *boundedBody) cause(err error) error {
	if err != nil && !errors.Is(err, io.EOF) && errors.Is(context.Cause(b.ctx), errSlow) {
		return errSlow
	}
	return err
}

// weigh removes blanks between the values of a stream from p, and returns the number of remaining bytes: the decoder of a stream would keep all
// blanks until the next value, and they can be endless.
func (b *boundedBody) weigh(p []byte) (int, error) {
	kept := p[:0]
	for len(p) > 0 {
		if b.stream && b.began.IsZero() {
			if p = bytes.TrimLeft(p, " \t\r\n"); len(p) == 0 {
				break // a wait for the next value has no limit
			}
			b.began = time.Now()
		}
		n, ended := b.scanner.Scan(p)
		kept = append(kept, p[:n]...) // in place: kept is never longer than the weighed bytes
		p = p[n:]
		switch {
		case b.scanner.Bytes > b.limit.Bytes:
			return 0, b.tooLarge(b.value(), bytesText(b.limit.Bytes))
		case b.scanner.Item > b.guard.Limits.Object.Bytes:
			return 0, b.tooLarge("an object in "+b.what, bytesText(b.guard.Limits.Object.Bytes))
		case b.scanner.Weight > b.limit.Weight:
			return 0, b.tooLarge(b.value(), bytesText(b.limit.Weight)+" of memory for its values when they are decoded")
		case b.stream && ended:
			b.extra += int(max(eventCost-b.scanner.Bytes, 0))
			b.scanner.Reset()
			b.began = time.Time{}
		case b.stream && time.Since(b.began) > b.patience:
			return 0, &LimitError{What: "an event in " + b.what + " does not end", Limit: b.patience.String(),
				Remedy: "Check the member's API server, and proxies and load balancers in between."}
		}
	}
	return len(kept), nil
}

// value is the unit to which the limits of bytes and weight apply.
func (b *boundedBody) value() string {
	if b.stream {
		return "an event in " + b.what
	}
	return b.what
}

func (b *boundedBody) tooLarge(what, limit string) error {
	return &LimitError{What: what + " is too large", Limit: limit, Remedy: lookForLarge}
}

// Close ends the answer, read or not.
func (b *boundedBody) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	b.end = func() {}
	return err
}

const lookForLarge = "Look in the member for objects that are too large, in labels and annotations for example, and make them smaller; if there are none, " +
	"check what answers at that address."

// beginList waits until a page can be read; the caller must then call endList.
func (g *Guard) beginList(ctx context.Context) error {
	select {
	case g.lists <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *Guard) endList() { <-g.lists }

// onlyJSON are the types that a request accepts, without those whose weight is unknown before they are decoded.
func onlyJSON(header http.Header) string {
	kinds := strings.Split(strings.Join(header.Values("Accept"), ","), ",")
	kinds = slices.DeleteFunc(kinds, func(kind string) bool { return !strings.HasPrefix(strings.TrimSpace(kind), jsonType) })
	if len(kinds) == 0 {
		return jsonType
	}
	return strings.Join(kinds, ",")
}

// boundRetryAfter shortens the pause that an answer requests. client-go accepts numbers of seconds only.
func boundRetryAfter(header http.Header) {
	const retryAfter = "Retry-After"
	if seconds, err := strconv.Atoi(header.Get(retryAfter)); err == nil && seconds > mostRetryAfter {
		header.Set(retryAfter, strconv.Itoa(mostRetryAfter))
	}
}

func headerBytes(header http.Header) (n int) {
	for name, values := range header {
		for _, value := range values {
			n += len(name) + len(value)
		}
	}
	return n
}

// origin is the scheme and host of a URL, or a placeholder.
func origin(location string) string {
	to, err := url.Parse(location)
	if err != nil || to.Host == "" {
		return "another path"
	}
	return untrusted.Text(to.Scheme+"://"+to.Host, 120)
}

// describe names the object of a request, by its path in the Kubernetes API. The operator made the path: it contains no text of
// the member.
func describe(path string, query url.Values) string {
	switch {
	case isWatch(query):
		return "the watch of " + path
	case query.Has("limit"):
		return "a page of the list of " + path
	}
	return "the answer of " + path
}

func closeBody(body io.ReadCloser) {
	if body != nil {
		_ = body.Close()
	}
}

func bytesText(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
