package sim

import (
	"net/http"
	"net/http/httptest"
)

// Transport connects to the simulator without a network, so that tests can use virtual time for the transport and for the simulator.
func (s *Simulator) Transport() http.RoundTripper { return inProcess{s.model.Service.ServeMux} }

type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	served := req.Clone(req.Context())
	served.RequestURI, served.RemoteAddr = req.URL.RequestURI(), "127.0.0.1:1"
	if served.Body == nil {
		served.Body = http.NoBody
	}
	answered := make(chan *http.Response, 1)
	go func() {
		recorder := httptest.NewRecorder()
		p.handler.ServeHTTP(recorder, served)
		answered <- recorder.Result()
	}()
	select {
	case res := <-answered:
		res.Request = req
		return res, nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}
