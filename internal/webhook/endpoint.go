package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/internal/seldom"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// drain is how long the server keeps reading the body of a request that it has already answered.
const drain = 250 * time.Millisecond

// front is shared by all endpoints: it limits what each caller can use.
type front struct {
	room        *shares // concurrent requests
	memory      *shares // bytes of bodies, raw and decoded
	turns       *turns
	metrics     *metrics
	log         logr.Logger
	failures    *seldom.Told[failure]
	bodyTimeout time.Duration
}

const tooMany = "too many admission requests at a time"

// failureInterval is the least time between log lines for one failure: callers can cause it at any rate. The metrics count all
// failures.
const failureInterval = time.Minute

// failure identifies a kind of failure in the log.
type failure struct{ message, webhook, member string }

// tell logs a failure, unless the same failure was logged less than failureInterval ago.
func (e *endpoint) tell(c *call, message string, details ...any) {
	if more, tell := e.failures.Next(failure{message, e.name, c.member}, time.Now(), failureInterval); tell {
		e.log.Info(message, append([]any{"webhook", e.name, "member", c.member, "more since the last such line", more}, details...)...)
	}
}

type endpoint struct {
	*front
	// name is the webhook's label in metrics.
	name    string
	handler admission.Handler
	// timeout of the handler. It ends before the API server's timeout, so that the response contains the reason.
	timeout time.Duration
}

type answer struct {
	verdict verdict
	status  int
	// text of a response that is not a review.
	text   string
	review []byte
	// hangUp closes the connection, so that the server does not wait for the rest of a body.
	hangUp bool
}

func problem(v verdict, status int, text string) answer {
	return answer{verdict: v, status: status, text: text}
}

// serve answers one admission request. The caller is authenticated: member is its name, or empty for the hub.
func (e *endpoint) serve(w http.ResponseWriter, r *http.Request, member string, start time.Time) {
	c := &call{member: member}
	a := e.answer(c, w, r)
	e.metrics.observe(e.name, c.member, a.verdict, time.Since(start))
	a.write(w, e.bodyTimeout)
}

func (e *endpoint) answer(c *call, w http.ResponseWriter, r *http.Request) answer {
	if !e.room.take(c.member, 1) {
		a := problem(noRoom, http.StatusServiceUnavailable, tooMany)
		a.hangUp = true
		return a
	}
	defer e.room.give(c.member, 1)
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		a := problem(malformed, http.StatusUnsupportedMediaType, "the content type must be application/json")
		a.hangUp = true
		return a
	}
	b, a := e.receive(w, r, c.member)
	if b == nil {
		return a
	}
	defer b.release()
	// The handler's time starts here: the API server is waiting too.
	ctx, cancel := context.WithTimeout(r.Context(), e.timeout)
	defer cancel()
	var err error
	if c.turn, err = e.turns.begin(ctx, c.member); err != nil {
		return problem(noRoom, http.StatusServiceUnavailable, tooMany)
	}
	defer c.turn.rest()
	return e.respond(ctx, c, b)
}

func (e *endpoint) receive(w http.ResponseWriter, r *http.Request, caller string) (*body, answer) {
	if r.ContentLength > maxBody {
		return nil, answer{verdict: tooLarge, status: http.StatusRequestEntityTooLarge, text: errTooLarge.Error(), hangUp: true}
	}
	control := http.NewResponseController(w)
	// A response writer without deadlines is one of a test.
	_ = control.SetReadDeadline(time.Now().Add(e.bodyTimeout))
	b, err := readBody(r.Body, maxBody, e.memory, caller)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, answer{verdict: tooLarge, status: http.StatusRequestEntityTooLarge, text: err.Error(), hangUp: true}
	case errors.Is(err, errNoMemory):
		return nil, answer{verdict: noRoom, status: http.StatusServiceUnavailable, text: err.Error(), hangUp: true}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, answer{verdict: tooSlow, status: http.StatusRequestTimeout, text: "the body did not arrive in time", hangUp: true}
	case err != nil:
		return nil, answer{verdict: malformed, status: http.StatusBadRequest, text: "the body cannot be read", hangUp: true}
	}
	// The deadline must end with the body: the server would treat it as the end of the connection.
	_ = control.SetReadDeadline(time.Time{})
	return b, answer{}
}

func (e *endpoint) respond(ctx context.Context, c *call, b *body) answer {
	if nestedTooDeeply(b.bytes, maxNesting) {
		return problem(malformed, http.StatusBadRequest, fmt.Sprintf("the body nests more than %d levels", maxNesting))
	}
	switch err := b.weigh(); {
	case errors.Is(err, errTooHeavy):
		return problem(tooLarge, http.StatusRequestEntityTooLarge, err.Error())
	case err != nil:
		return problem(noRoom, http.StatusServiceUnavailable, err.Error())
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(b.bytes, &review); err != nil || review.Request == nil || review.Request.UID == "" ||
		review.APIVersion != admissionv1.SchemeGroupVersion.String() || review.Kind != "AdmissionReview" {
		return problem(malformed, http.StatusBadRequest, "the body is not a complete AdmissionReview of admission.k8s.io/v1")
	}
	req := admission.Request{AdmissionRequest: *review.Request}
	response, ok := e.handle(withCall(ctx, c), req)
	switch {
	case !ok:
		return problem(panicked, http.StatusInternalServerError, "the operator made an error; its log names it")
	case c.failure != nil:
		e.tell(c, "Cannot review an admission request", "reason", c.failure.Error())
		return problem(unavailable, http.StatusInternalServerError, untrusted.Text(c.failure.Error(), maxMessage))
	}
	if err := response.Complete(req); err != nil {
		e.tell(c, "Cannot encode the response to an admission request", "reason", err.Error())
		return problem(unavailable, http.StatusInternalServerError, "the response cannot be encoded")
	}
	reply := admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: &response.AdmissionResponse}
	encoded, err := json.Marshal(reply)
	if err != nil {
		e.tell(c, "Cannot encode the response to an admission request", "reason", err.Error())
		return problem(unavailable, http.StatusInternalServerError, "the response cannot be encoded")
	}
	a := answer{verdict: allowed, status: http.StatusOK, review: encoded}
	switch {
	case !response.Allowed:
		a.verdict = refused
	case len(response.Patch) > 0:
		a.verdict = defaulted
	}
	return a
}

// handle runs the handler, and returns false if the handler panicked. A bug must neither end the process nor refuse an object:
// the member's failurePolicy decides.
func (e *endpoint) handle(ctx context.Context, req admission.Request) (response admission.Response, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			response, ok = admission.Response{}, false
			reason := "withheld: it can hold data of the object"
			var bug runtime.Error
			if err, ok := p.(error); ok && errors.As(err, &bug) {
				reason = bug.Error()
			}
			e.tell(callOf(ctx), "Recovered from a panic in an admission handler; please report it",
				"requestUID", req.UID, "reason", reason, "stack", string(debug.Stack()))
		}
	}()
	return e.handler.Handle(ctx, req), true
}

// write sends the response. The caller has released the resources of the request, so a slow reader holds none.
func (a answer) write(w http.ResponseWriter, patience time.Duration) {
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(patience))
	if a.hangUp {
		w.Header().Set("Connection", "close")
		// The server briefly reads some of the remaining body, so that the caller gets the response.
		_ = control.SetReadDeadline(time.Now().Add(drain))
	}
	content, kind := a.review, "application/json"
	if a.review == nil {
		content, kind = []byte(a.text+"\n"), "text/plain; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(a.status)
	_, _ = bytes.NewReader(content).WriteTo(w)
}
