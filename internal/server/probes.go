package server

import (
	"fmt"
	"net"
	"net/http"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Paths at which kubelet asks.
const (
	LivePath  = "/healthz"
	ReadyPath = "/readyz"
)

// probeConnections is how many may ask at one time. There are many more than kubelet needs: if strangers held them all, kubelet would get no answer, and end
// the container. Each costs little, since a head is small.
const probeConnections = 1024

// Probes are the checks by path and name. A check at a path is answered below it by its name, too.
type Probes map[string]map[string]healthz.Checker

// Open listens for kubelet, and returns what answers it once the manager runs; nothing where the address is "0". It does what controller-runtime's
// server of probes does, whose connections have no limit and wait long for a head of a megabyte.
func (p Probes) Open(address string, log logr.Logger) ([]manager.Runnable, error) {
	if address == "0" || address == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for probes: %w", err)
	}
	return []manager.Runnable{p.server(listener, log)}, nil
}

func (p Probes) server(listener net.Listener, log logr.Logger) *manager.Server {
	mux := http.NewServeMux()
	for path, checks := range p {
		handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
		mux.Handle(path, handler)
		mux.Handle(path+"/", handler)
	}
	return boundedServer(listener, probeConnections, smallHead, "probes", nil, log, mux)
}
