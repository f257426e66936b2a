package session

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// versionsFile says which versions of the API there are. It is served without a session.
	versionsFile = "/vimServiceVersions.xml"
	// mostOfAKnock is how much is read of the answer to a knock, which nobody has to believe.
	mostOfAKnock = 64 << 10
)

// Knock asks the server for a file, over a connection of its own and without a login. It shows what a session with open
// connections does not: whether the server still takes new ones, and with which certificate. Errors are those of Dial.
func Knock(ctx context.Context, cfg Config) error {
	return knockError(cfg, knock(ctx, cfg))
}

// knock asks for a file and not by a call: vCenter begins a session with each call that has none, holds it for half an hour or longer, and has room for a few
// thousand of all clients. Every status for the file counts as an answer, also 404, but not one that says that the SDK is not served at present.
func knock(ctx context.Context, cfg Config) error {
	sc, err := newClient(cfg)
	if err != nil {
		return err
	}
	sc.DefaultTransport().DisableKeepAlives = true
	ctx, cancel := context.WithTimeout(ctx, cfg.knockEvery())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, sc.URL().String()+versionsFile, nil)
	if err != nil {
		return err
	}
	return sc.Do(ctx, req, func(res *http.Response) error {
		body, err := io.ReadAll(io.LimitReader(res.Body, mostOfAKnock))
		switch {
		case err != nil:
			return err
		case res.StatusCode == http.StatusInternalServerError && strings.Contains(string(body), "<faultcode>"):
			return nil // who refuses the question is there
		case res.StatusCode >= http.StatusInternalServerError:
			return &statusError{res.Status}
		}
		return nil
	})
}

// statusError is an answer to a knock that says that nobody serves the SDK.
type statusError struct{ status string }

func (e *statusError) Error() string { return e.status }

func knockError(cfg Config, err error) error {
	switch {
	case err == nil:
		return nil
	case vsphere.KindOf(err) != vsphere.KindTransient:
		return err
	case ranOut(err):
		err = fmt.Errorf("it has answered nothing for %s; see whether its services run and whether the network lets answers through: %w", cfg.knockEvery(), err)
	}
	return connectError(opConnect, err)
}
