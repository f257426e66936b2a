package renewal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// Link is the connection whose tokens are renewed.
type Link interface {
	// Leading reports whether this replica can write to the member.
	Leading() bool
	// NoteRenewal records the result of an attempt: why it failed, or "".
	NoteRenewal(identity, failed string)
}

// Identity is one identity of a connection.
type Identity struct {
	// Name is [credential.Member] or [credential.Bootstrap].
	Name string
	// Token is the present one. A renewal replaces its value.
	Token *remote.Token
	// Fingerprint of the kubeconfig; see [Store].
	Fingerprint string
	// API authenticates with Token.
	API *remote.API
}

// Config is that of a Renewer.
type Config struct {
	Member string
	// Lifetime is requested for each token.
	Lifetime time.Duration
	// After, Retry and Now are those of the operator's options; see [Due].
	After time.Duration
	Retry wait.Backoff
	Now   func() time.Time
	Store *Store
	Link  Link
	Log   logr.Logger
}

// Renewer renews the tokens of one engaged member, in its own goroutine. It does nothing on a replica that does not lead: that one gets the
// tokens from the Store.
type Renewer struct {
	Config
	poke chan struct{}
}

// New returns a Renewer that renews nothing yet.
func New(c Config) *Renewer { return &Renewer{c, make(chan struct{}, 1)} }

// Wake has the times of all tokens checked soon. It never blocks. Call it when this replica becomes the leader, and when the member responds again.
func (r *Renewer) Wake() {
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

// Keep renews the tokens of these identities until the caller calls end, which waits for the goroutine.
func (r *Renewer) Keep(ctx context.Context, identities ...Identity) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	all := make([]*renewing, 0, len(identities))
	for _, i := range identities {
		if _, ok := credential.AccountOf(i.Token.Value()); ok {
			all = append(all, &renewing{Identity: i, retry: r.Retry})
		}
	}
	if len(all) == 0 {
		cancel()
		return cancel
	}
	go func() {
		defer close(done)
		r.run(ctx, all)
	}()
	return func() {
		cancel()
		<-done
	}
}

// renewing is the state of one identity.
type renewing struct {
	Identity
	retry wait.Backoff
	// retryAt is the time of the next attempt after a failed one, or zero.
	retryAt time.Time
}

// idle is the pause of a replica that does not lead, which is woken when it does.
const idle = time.Minute

func (r *Renewer) run(ctx context.Context, all []*renewing) {
	for ctx.Err() == nil {
		next := idle
		if r.Link.Leading() {
			for _, of := range all {
				next = min(next, r.step(ctx, of))
			}
		}
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-r.poke:
			for _, of := range all {
				of.retryAt = time.Time{}
			}
		case <-timer.C:
		}
		timer.Stop()
	}
}

// step renews a token that is due, and returns when to check again.
func (r *Renewer) step(ctx context.Context, of *renewing) time.Duration {
	account, _ := credential.AccountOf(of.Token.Value())
	due := Due(account, r.After, r.Member, of.Name)
	if of.retryAt.After(due) {
		due = of.retryAt
	}
	if wait := due.Sub(r.Now()); wait > 0 {
		return wait
	}
	token, err := r.request(ctx, of, account)
	failed := problem(of, err)
	if err == nil {
		// Every replica gets it from the Store, this one too after a restart. So it is stored before it is used.
		if err = r.Store.Put(ctx, r.Member, of.Name, of.Fingerprint, token); err != nil {
			failed = fmt.Sprintf("The hub does not store the new token: %s.", remote.AnswerOf(err))
		}
	}
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, remote.ErrNotLeading):
		return idle
	case err != nil:
		pause := of.retry.Step()
		of.retryAt = r.Now().Add(pause)
		r.Log.Error(err, "The token could not be renewed", "identity", of.Name, "expires", account.Expires, "retryAfter", pause.String())
		r.Link.NoteRenewal(of.Name, failed)
		return pause
	default:
		of.retry, of.retryAt = r.Retry, time.Time{}
		of.Token.Replace(token)
		r.Log.Info("The token was renewed", "identity", of.Name)
		r.Link.NoteRenewal(of.Name, "")
	}
	return time.Second
}

// errNotAccepted: the API server issued another token than the requested one.
var errNotAccepted = errors.New("the issued token is not accepted")

// request has the ServiceAccount request its own next token.
func (r *Renewer) request(ctx context.Context, of *renewing, account credential.Account) (string, error) {
	ctx, cancel := of.API.Bounded(ctx)
	defer cancel()
	seconds := int64(r.Lifetime / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &seconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: credential.SessionSecret},
	}}
	owner := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: account.Namespace, Name: account.Name}}
	if err := of.API.Client.SubResource("token").Create(ctx, owner, request); err != nil {
		return "", fmt.Errorf("request a token of ServiceAccount %s/%s: %w", account.Namespace, account.Name, err)
	}
	issued, ok := credential.AccountOf(request.Status.Token)
	if !ok || issued.Namespace != account.Namespace || issued.Name != account.Name || !issued.Expires.After(account.Expires) {
		return "", errNotAccepted
	}
	return request.Status.Token, nil
}

// problem describes a failed request for a condition, or is "" if it did not fail.
func problem(of *renewing, err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errNotAccepted):
		return of.API.Host() + " issued a token of another ServiceAccount, or one that does not live longer than the present one."
	case remote.Answered(err):
		return fmt.Sprintf("%s answers: %s.", of.API.Host(), remote.AnswerOf(err))
	}
	return remote.Classify(of.API.Host(), err).Message
}
