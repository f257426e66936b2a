//go:build unix

package localcluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/codeconnect/vmgroup-operator/test/harness/filelock"
)

// Ports are below the ranges of Linux (32768) and macOS (49152) for outgoing connections. Otherwise, a connection of any process could take
// the port of an API server while it is down.
const (
	lowestPort  = 20000
	highestPort = 32000
)

// loopback is the default address of control planes.
const loopback = "127.0.0.1"

// port is a TCP port of an address of this machine. The number is reserved among all users of this package on the machine, so that no
// control plane connects to the etcd of another.
type port struct {
	host    string
	number  int
	release func()
}

// address is host:port.
func (p port) address() string { return net.JoinHostPort(p.host, strconv.Itoa(p.number)) }

// reservePort returns a port of the address without a listener. The caller releases it after the end of the control plane.
func reservePort(host string) (port, error) {
	for range 1000 {
		p := port{host: host, number: lowestPort + rand.IntN(highestPort-lowestPort)}
		path := filepath.Join(os.TempDir(), "vmgroup-ports", strconv.Itoa(p.number))
		unlock, ok, err := filelock.TryLock(path)
		if err != nil {
			return port{}, fmt.Errorf("reserve a port: %w", err)
		}
		if !ok {
			continue
		}
		if listener, err := net.Listen("tcp", p.address()); err == nil {
			_ = listener.Close()
			p.release = unlock
			return p, nil
		}
		unlock()
	}
	return port{}, fmt.Errorf("found no free port between %d and %d on %s", lowestPort, highestPort, host)
}
