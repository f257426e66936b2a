package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/netutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/codeconnect/vmgroup-operator/internal/admission/serving"
)

// Timeouts of a connection whose caller sends nothing, from the TLS handshake on. The webhooks have their own timeouts for the body of a request.
const (
	headPatience = 5 * time.Second
	// answerPatience runs from a request's head to the end of its response. The webhooks' own timeouts are shorter.
	answerPatience = 30 * time.Second
	idlePatience   = 25 * time.Second
	// bodyPatience runs from the first byte of a request to the last one of its body, for reads without a timeout of the handler. It is longer than the
	// webhooks' timeouts for head and body together: their response contains the reason.
	bodyPatience = 15 * time.Second
)

// Maximum connections of a port at one time. More connections wait until one ends: each costs memory, and any client can open them. An API server keeps one
// or two; the hub has few API servers, and each member some. Few clients read metrics.
const (
	memberConnections = 1024
	hubConnections    = 256
	metricConnections = 32
)

// shutPatience is how long a server that shuts down waits for calls in progress.
const shutPatience = time.Minute

// Limits of request heads, in bytes; net/http adds 4 KiB. A head of 68 KiB in lines of 5 bytes becomes 1.3 MiB, in each of 1,024 connections. An API server
// and kubelet send less than 1 KiB. Clients that read metrics send a token, which can be long.
const (
	smallHead = 2 << 10
	largeHead = 16 << 10
)

// certificate is GetCertificate of a tls.Config.
type certificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// door serves webhook calls on a listener once the manager runs, and closes the listener at the end.
func door(listener net.Listener, connections int, name string, certificate certificate, l *Leaving, log logr.Logger, handler http.Handler) *manager.Server {
	bounded := boundedServer(listener, connections, smallHead, "webhooks of "+name, certificate, log, l.handler(handler))
	l.add(bounded.Server)
	return bounded
}

// boundedServer serves a handler with TLS, or without TLS if there is no certificate. It limits the number of connections, and closes idle ones. HTTP/2 is
// off: a few calls a second do not need it, and it adds ways to overload a server. It is not one of controller-runtime's servers: their timeouts are long,
// and their http.ServeMux redirects some paths, and so distinguishes these from others.
func boundedServer(listener net.Listener, connections, head int, name string, certificate certificate, log logr.Logger, handler http.Handler) *manager.Server {
	listener = frugal{netutil.LimitListener(listener, connections)}
	if certificate != nil {
		listener = tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: certificate})
	}
	return &manager.Server{
		Name: name, Listener: listener, ShutdownTimeout: new(shutPatience),
		Server: &http.Server{
			Handler: handler, ConnState: follow, ReadHeaderTimeout: headPatience, ReadTimeout: bodyPatience, WriteTimeout: answerPatience, IdleTimeout: idlePatience,
			MaxHeaderBytes: head, ErrorLog: stdlog.New(&seldomLog{log: log.WithValues("server", name), message: "A connection failed"}, "", 0),
			// Otherwise net/http answers OPTIONS * itself, unlike all other requests.
			DisableGeneralOptionsHandler: true,
		},
	}
}

// Webhooks has the addresses of the webhooks: all addresses if Host is empty.
type Webhooks struct {
	Host                string
	MemberPort, HubPort int
}

// Open listens on both ports. After an error, none is open.
func (w Webhooks) Open(keeper *serving.Keeper, l *Leaving, log logr.Logger, members, hub http.Handler) ([]manager.Runnable, error) {
	forMembers, err := net.Listen("tcp", net.JoinHostPort(w.Host, strconv.Itoa(w.MemberPort)))
	if err != nil {
		return nil, fmt.Errorf("listen for the webhooks of members: %w", err)
	}
	forHub, err := net.Listen("tcp", net.JoinHostPort(w.Host, strconv.Itoa(w.HubPort)))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen for the webhooks of the hub: %w", err), forMembers.Close())
	}
	return []manager.Runnable{
		door(forMembers, memberConnections, "members", keeper.GetCertificate, l, log, members),
		door(forHub, hubConnections, "the hub", keeper.GetCertificate, l, log, hub),
	}, nil
}
