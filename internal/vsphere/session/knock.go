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
	// versionsFile lists the API versions. The server delivers it without a session.
	versionsFile = "/vimServiceVersions.xml"
	// mostOfAKnock is the part of a knock's answer that is read, because the answer is not authenticated.
	mostOfAKnock = 64 << 10
)

// Knock requests a file from the server, over a new connection and without a login. Unlike a session with open connections, it shows whether the server still
// accepts new ones, and its certificate. Errors are those of Dial.
func Knock(ctx context.Context, cfg Config) error {
	return knockError(cfg, knock(ctx, cfg))
}

// knock requests a file instead of making a call. vCenter starts a session for each call without one, and keeps it for half an hour or longer. It has
// capacity for a few thousand sessions of all clients. Every status for the file counts as an answer, even 404, except one that reports that the SDK is
// currently not served.
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
			return nil // a server that refuses the request is available
		case res.StatusCode >= http.StatusInternalServerError:
			return &statusError{res.Status}
		}
		return nil
	})
}

// statusError is an answer to a knock that reports that the SDK is not served.
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
