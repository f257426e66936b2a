package session

import (
	"context"
	"encoding/xml"
	"io"
	"net/http"
	"strings"

	"github.com/vmware/govmomi/vim25"
)

// Treatment is a server's reaction to a request.
type Treatment struct {
	// Status is the HTTP status. Fault is true if the body is a SOAP fault.
	Status int
	Fault  bool
	// Full is true if the server has no capacity for another session.
	Full bool
}

// Accepted reports whether the server executed the request.
func (t Treatment) Accepted() bool { return t.Status == http.StatusOK && !t.Fault }

const retrieveContent = `<?xml version="1.0" encoding="UTF-8"?><Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body>` +
	`<RetrieveServiceContent xmlns="urn:vim25"><_this type="ServiceInstance">ServiceInstance</_this></RetrieveServiceContent></Body></Envelope>`

// Actions are SOAPAction headers: the one of every session request, and one without an API version.
const (
	VersionedAction   = "urn:" + vim25.Namespace + "/" + vim25.Version
	UnversionedAction = "/"
)

// Ask calls RetrieveServiceContent with a SOAPAction header and without a login. vCenter can start a session for it,
// which stays until it has been idle for long enough.
func Ask(ctx context.Context, cfg Config, action string) (Treatment, error) {
	sc, err := newClient(cfg)
	if err != nil {
		return Treatment{}, err
	}
	sc.DefaultTransport().DisableKeepAlives = true
	ctx, cancel := context.WithTimeout(ctx, cfg.knockEvery())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, sc.URL().String(), strings.NewReader(retrieveContent))
	if err != nil {
		return Treatment{}, err
	}
	req.Header.Set("Content-Type", `text/xml; charset="utf-8"`)
	req.Header.Set("SOAPAction", action)
	var t Treatment
	err = sc.Do(ctx, req, func(res *http.Response) error {
		body, err := io.ReadAll(io.LimitReader(res.Body, mostOfAKnock))
		text := string(body)
		t = Treatment{Status: res.StatusCode, Fault: strings.Contains(text, "faultcode>"), Full: strings.Contains(text, "Out of HTTP sessions")}
		return err
	})
	return t, knockError(cfg, err)
}

// Versions returns the API versions that the server reports, the newest first. If the server has no such file, it
// returns false.
func Versions(ctx context.Context, cfg Config) ([]string, bool, error) {
	sc, err := newClient(cfg)
	if err != nil {
		return nil, false, err
	}
	sc.DefaultTransport().DisableKeepAlives = true
	ctx, cancel := context.WithTimeout(ctx, cfg.knockEvery())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, sc.URL().String()+versionsFile, nil)
	if err != nil {
		return nil, false, err
	}
	var file struct {
		Namespaces []struct {
			Name    string   `xml:"name"`
			Version string   `xml:"version"`
			Prior   []string `xml:"priorVersions>version"`
		} `xml:"namespace"`
	}
	found := false
	err = sc.Do(ctx, req, func(res *http.Response) error {
		body, err := io.ReadAll(io.LimitReader(res.Body, mostOfAKnock))
		found = err == nil && res.StatusCode == http.StatusOK && xml.Unmarshal(body, &file) == nil
		return err
	})
	if err != nil {
		return nil, false, knockError(cfg, err)
	}
	for _, n := range file.Namespaces {
		if n.Name == "urn:"+vim25.Namespace {
			return append([]string{n.Version}, n.Prior...), found, nil
		}
	}
	return nil, found, nil
}
