package session

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// drops sends the bytes of a response one by one, with a pause between any two.
type drops struct {
	ctx   context.Context //nolint:containedctx // that of the request
	first time.Duration
	pause time.Duration
	left  int
}

func (d *drops) Read(p []byte) (int, error) {
	wait := d.pause
	if d.first > 0 {
		wait, d.first = d.first, 0
	}
	if d.left == 0 {
		return 0, io.EOF
	}
	select {
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	case <-time.After(wait):
	}
	d.left--
	p[0] = ' '
	return 1, nil
}

func (*drops) Close() error { return nil }

type trickle func(*http.Request) *http.Response

func (t trickle) RoundTrip(r *http.Request) (*http.Response, error) { return t(r), nil }

// TestAnAnswerThatTricklesEnds: a response after a long wait is news, and must end within a minute
// of its first byte. All others must end within the timeout of their call.
func TestAnAnswerThatTricklesEnds(t *testing.T) {
	for _, test := range []struct {
		story string
		drops drops
		call  time.Duration
		// after is the end of the call, and limit the text of its error.
		after time.Duration
		limit string
	}{
		{"news that trickle", drops{first: 50 * time.Second, pause: time.Second, left: 1 << 20}, time.Hour, 50*time.Second + answerTime, "did not end within 1m0s"},
		{"an answer whose call ends", drops{pause: time.Second, left: 1 << 20}, 15 * time.Second, 15 * time.Second, "did not end within the time of the call"},
		{"no answer at all", drops{first: time.Hour, left: 1}, 15 * time.Second, 15 * time.Second, ""},
	} {
		t.Run(test.story, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := Config{URL: "https://vcenter"}
				sc, err := newClient(cfg)
				if err != nil {
					t.Fatal(err)
				}
				wrapped, ok := sc.Transport.(*bounded)
				if !ok {
					t.Fatalf("answers have no bound: %T", sc.Transport)
				}
				wrapped.next = trickle(func(r *http.Request) *http.Response {
					body := test.drops
					body.ctx = r.Context()
					return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: &body}
				})
				ctx, cancel := context.WithTimeout(t.Context(), test.call)
				defer cancel()
				began := time.Now()
				err = waitForNews(ctx, sc)
				if took := time.Since(began); took != test.after {
					t.Errorf("the call ends after %s, want %s", took, test.after)
				}
				var limit *LimitError
				if test.limit == "" {
					if errors.As(err, &limit) || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("silence is %v", err)
					}
					return
				}
				if !errors.As(err, &limit) || vsphere.KindOf(err) != vsphere.KindLimitExceeded || !strings.Contains(err.Error(), test.limit) {
					t.Errorf("the error is %v, want one with %q", err, test.limit)
				}
			})
		})
	}
}

func waitForNews(ctx context.Context, sc *soap.Client) error {
	var res methods.WaitForUpdatesExBody
	req := methods.WaitForUpdatesExBody{Req: &types.WaitForUpdatesEx{}}
	return sc.RoundTrip(expect(ctx, &res), &req, &res)
}

// TestAServerSetsFewCookies: each is stored, and sent with every request.
func TestAServerSetsFewCookies(t *testing.T) {
	var c cookies
	kept := 0
	for range 3 {
		for i := range 100 {
			h := http.Header{"Set-Cookie": {"vmware_soap_session=1; Path=/", "c" + strings.Repeat("x", i) + "=1", "long=" + strings.Repeat("x", longestCookie), "=="}}
			c.filter(h)
			if h["Set-Cookie"][0] != "vmware_soap_session=1; Path=/" {
				t.Fatal("the cookie of the session is lost")
			}
			kept = max(kept, len(h["Set-Cookie"]))
		}
	}
	if len(c.seen) != mostCookies || kept != 2 {
		t.Errorf("%d cookies are kept, %d of one answer", len(c.seen), kept)
	}
}

// TestPagesOfOneListingHaveOneBound: a listing whose last page never comes.
func TestPagesOfOneListingHaveOneBound(t *testing.T) {
	b := &bounded{time: time.Minute, next: trickle(func(*http.Request) *http.Response {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(strings.Repeat(strings.Repeat("x", 1<<19-3)+"<a>", 6)))}
	})}
	var res methods.ContinueRetrievePropertiesExBody
	alone := expect(t.Context(), &res)
	together := OneListing(alone)
	const enough = listingWeight/(3<<20+6*elementWeight) + 1
	read := func(ctx context.Context) error {
		body := strings.NewReader("<Envelope><Body><ContinueRetrievePropertiesEx />")
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://vcenter/sdk", body)
		if err != nil {
			return err
		}
		answer, err := b.RoundTrip(req)
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		_, err = io.Copy(io.Discard, answer.Body)
		return err
	}
	for i := range enough {
		if err := read(alone); err != nil {
			t.Fatalf("page %d of listings of one page: %v", i, err)
		}
		if err := read(together); (err != nil) != (i == enough-1) {
			t.Fatalf("page %d of %d: %v", i, enough, err)
		}
	}
}
