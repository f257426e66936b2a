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

// Times of a connection whose caller says nothing, from the TLS handshake on. Those of a request's body are the webhooks' own.
const (
	headPatience = 5 * time.Second
	// answerPatience is from a request's head to the end of its answer. The webhooks' own times are shorter.
	answerPatience = 30 * time.Second
	idlePatience   = 25 * time.Second
	// bodyPatience is from the first byte of a request to the last one of its body, for whatever a handler does not wait for itself. It is longer than
	// what the webhooks wait for a head and a body together: theirs is the answer that says why.
	bodyPatience = 15 * time.Second
)

// How many connections a port has at one time. More wait, unanswered, until one ends: each costs memory, and who opens them need not be
// anybody whom this process knows. An API server keeps one or two; there are few of the hub, and some for each member. Few read metrics.
const (
	memberConnections = 1024
	hubConnections    = 256
	metricConnections = 32
)

// shutPatience is how long a server that ends waits for the calls that it answers.
const shutPatience = time.Minute

// Heads of requests, in bytes; net/http takes 4 KiB more. A head of 68 KiB in lines of 5 bytes becomes 1.3 MiB, in each of 1,024 connections. An API server
// and kubelet send less than 1 KiB. Who reads metrics shows a token, which may be long.
const (
	smallHead = 2 << 10
	largeHead = 16 << 10
)

// certificate is GetCertificate of a tls.Config.
type certificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// door answers calls of webhooks that come to a listener once the manager runs, and closes it.
func door(listener net.Listener, connections int, name string, certificate certificate, l *Leaving, log logr.Logger, handler http.Handler) *manager.Server {
	bounded := boundedServer(listener, connections, smallHead, "webhooks of "+name, certificate, log, l.handler(handler))
	l.add(bounded.Server)
	return bounded
}

// boundedServer serves a handler by TLS, or without if there is no certificate. There are never more than so many connections, and no caller keeps one
// by saying nothing. HTTP/2 is off: what is called a few times a second does not need it, and its ways to tie up a server are not worth having. It is
// not one of controller-runtime's servers: their times are long, and they put an http.ServeMux before the handler, which redirects some paths, and so tells
// them from others.
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
			// Otherwise net/http answers OPTIONS * itself, unlike all else.
			DisableGeneralOptionsHandler: true,
		},
	}
}

// Webhooks says where the webhooks are served: on all addresses if Host is empty.
type Webhooks struct {
	Host                string
	MemberPort, HubPort int
}

// Open listens on both ports. On an error none is open.
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
