//go:build unix

package localcluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
)

// network is the network of a hub's node: a link to this machine, and ranges that are routed over the link. Every hub has its own number,
// so that several can run at the same time.
type network struct {
	number int
	// host and node are the two ends of the link.
	host, node netip.Addr
	// services and pods are the ranges behind the node.
	services, pods netip.Prefix
}

// networks is the count of numbers.
const networks = 256

// linkSize is the prefix length of the link: two addresses.
const linkSize = 30

func newNetwork(number int) network {
	address := func(second, last int) netip.Addr {
		return netip.AddrFrom4([4]byte{10, byte(second), byte(number), byte(last)})
	}
	return network{
		number: number, host: address(250, 1), node: address(250, 2),
		services: netip.PrefixFrom(address(251, 0), 24), pods: netip.PrefixFrom(address(252, 0), 24),
	}
}

// link is the name of the link's end on this machine.
func (n network) link() string { return fmt.Sprintf("vmgroup%d", n.number) }

// overlaps reports whether any address of the network is in one of the ranges.
func (n network) overlaps(ranges []netip.Prefix) bool {
	for _, each := range ranges {
		for _, own := range []netip.Prefix{netip.PrefixFrom(n.host, linkSize).Masked(), n.services, n.pods} {
			if own.Overlaps(each) {
				return true
			}
		}
	}
	return false
}

// connectSandbox makes the link between this machine and the namespaces, with the first free number. The kernel removes the link and its
// routes together with the namespaces. The link's name is the lock, because no second link can have the same name.
func connectSandbox(ctx context.Context, s *sandbox) (network, error) {
	used, err := routes()
	if err != nil {
		return network{}, err
	}
	var last error
	for number := range networks {
		n := newNetwork(number)
		if _, err := net.InterfaceByName(n.link()); err == nil || n.overlaps(used) {
			continue
		}
		made, err := tool(ctx, "ip", "link", "add", n.link(), "type", "veth", "peer", "name", nodeLink, "netns",
			fmt.Sprint(s.pid()))
		if err != nil {
			// Another hub can have taken the number. Any other error would repeat, so a few attempts are enough.
			if last = fmt.Errorf("make a link to the node: %w\n%s", err, made); number >= 8 {
				break
			}
			continue
		}
		return n, n.configure(ctx, s)
	}
	return network{}, errors.Join(errors.New("found no free range of addresses 10.250.N.0 to 10.252.N.0 for a node"), last)
}

// nodeLink is the name of the link's end inside of the namespaces.
const nodeLink = "eth0"

// configure gives the link addresses and routes. The node can reach only this machine, and has no default route: a program in it that calls
// another address gets no answer.
func (n network) configure(ctx context.Context, s *sandbox) error {
	inside := [][]string{
		{"link", "set", "lo", "up"},
		{"address", "add", fmt.Sprintf("%s/%d", n.node, linkSize), "dev", nodeLink},
		{"link", "set", nodeLink, "up"},
	}
	for _, args := range inside {
		if out, err := s.command(ctx, nil, "ip", args...); err != nil {
			return fmt.Errorf("set up the node's network: ip %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	outside := [][]string{
		{"address", "add", fmt.Sprintf("%s/%d", n.host, linkSize), "dev", n.link()},
		{"link", "set", n.link(), "up"},
		{"route", "add", n.services.String(), "via", n.node.String()},
		{"route", "add", n.pods.String(), "via", n.node.String()},
	}
	for _, args := range outside {
		if out, err := tool(ctx, "ip", args...); err != nil {
			return fmt.Errorf("set up the way to the node: ip %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// routes returns the destinations of this machine's routes, without the default route.
func routes() ([]netip.Prefix, error) {
	content, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return nil, fmt.Errorf("read this machine's routes: %w", err)
	}
	return parseRoutes(content)
}

// parseRoutes parses the kernel's table, with one line for each route. The second column is the destination and the eighth the mask, both
// as hexadecimal digits in the byte order of a little-endian machine.
func parseRoutes(table []byte) ([]netip.Prefix, error) {
	var result []netip.Prefix
	lines := bufio.NewScanner(bytes.NewReader(table))
	lines.Scan() // the header
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 {
			continue
		}
		destination, err := hex.DecodeString(fields[1])
		mask, maskErr := hex.DecodeString(fields[7])
		if err = errors.Join(err, maskErr); err != nil || len(destination) != 4 || len(mask) != 4 {
			return nil, fmt.Errorf("read this machine's routes: %q is not one (%w)", lines.Text(), err)
		}
		ones, _ := net.IPMask(reversed(mask)).Size()
		if ones > 0 {
			address, _ := netip.AddrFromSlice(reversed(destination))
			result = append(result, netip.PrefixFrom(address, ones))
		}
	}
	return result, nil
}

// reversed converts the kernel's number to the bytes of an address.
func reversed(number []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, binary.LittleEndian.Uint32(number))
}

// disconnect removes the link immediately, because the kernel removes it only some time after the end of the namespaces.
func (n network) disconnect() error {
	if !n.host.IsValid() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	out, err := tool(ctx, "ip", "link", "delete", n.link())
	if _, gone := net.InterfaceByName(n.link()); err != nil && gone == nil {
		return fmt.Errorf("remove the link %s: %w\n%s", n.link(), err, out)
	}
	return nil
}
