package server

import (
	"fmt"
	"net"
	"net/http"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Paths that kubelet requests.
const (
	LivePath  = "/healthz"
	ReadyPath = "/readyz"
)

// probeConnections is the maximum number of connections at one time. It is much higher than kubelet needs: if other clients held all connections, kubelet
// would get no response, and end the container. Each connection costs little, since a head is small.
const probeConnections = 1024

// Probes are the checks by path and name. Each check is also served below its path, by its name.
type Probes map[string]map[string]healthz.Checker

// Open listens for kubelet, and returns the server of the probes; nothing if the address is "0". It replaces controller-runtime's probe server, whose
// connections have no limit and wait long for a head of a megabyte.
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
