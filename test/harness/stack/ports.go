//go:build unix

package stack

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/codeconnect/vmgroup-operator/test/harness/filelock"
)

// Ports for managers are below those of localcluster, and below those that systems use for outgoing connections.
const (
	lowestPort  = 14000
	highestPort = 20000
)

// port is a loopback address that no other stack on this machine uses.
type port struct {
	address string
	release func()
}

func (p port) free() {
	if p.release != nil {
		p.release()
	}
}

// ReserveAddress returns a loopback address for a server that the caller starts beside a stack. The caller frees it when that server has ended.
func ReserveAddress() (address string, free func(), err error) {
	p, err := reservePort()
	return p.address, p.free, err
}

// reservePort returns a free port. The caller frees it when its user has ended.
func reservePort() (port, error) {
	for range 1000 {
		number := strconv.Itoa(lowestPort + rand.IntN(highestPort-lowestPort))
		unlock, ok, err := filelock.TryLock(filepath.Join(os.TempDir(), "vmgroup-ports", number))
		if err != nil {
			return port{}, fmt.Errorf("reserve a port: %w", err)
		}
		if !ok {
			continue
		}
		p := port{address: net.JoinHostPort("127.0.0.1", number), release: unlock}
		if listener, err := net.Listen("tcp", p.address); err == nil {
			_ = listener.Close()
			return p, nil
		}
		unlock()
	}
	return port{}, fmt.Errorf("found no free port between %d and %d on 127.0.0.1", lowestPort, highestPort)
}
