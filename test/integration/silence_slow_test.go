//go:build unix && slow

package integration

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// wire forwards TCP connections until it is cut; then it keeps them open without data, like a firewall that drops
// packets.
type wire struct {
	net.Listener
	target string

	mu   sync.Mutex
	open chan struct{} // closed while data flows

	// used is closed when the first connection came.
	used    chan struct{}
	usedNow sync.Once
}

func newWire(t *testing.T, target string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l, target: target, open: make(chan struct{}), used: make(chan struct{})}
	close(w.open)
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			w.usedNow.Do(func() { close(w.used) })
			go w.carry(in)
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	return w
}

func (w *wire) carry(in net.Conn) {
	out, err := net.Dial("tcp", w.target)
	if err != nil {
		_ = in.Close()
		return
	}
	var wg sync.WaitGroup
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		wg.Go(func() {
			buffer := make([]byte, 64<<10)
			for {
				n, err := way[0].Read(buffer)
				<-w.flow()
				if n > 0 {
					if _, err := way[1].Write(buffer[:n]); err != nil {
						break
					}
				}
				if err != nil {
					break
				}
			}
			_ = in.Close()
			_ = out.Close()
		})
	}
	wg.Wait()
}

func (w *wire) flow() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = make(chan struct{})
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.open:
	default:
		close(w.open)
	}
}

func TestAMemberThatGoesSilentDelaysNobody(t *testing.T) {
	w := troubled.enter(t)
	member := w.Members["team-b"]
	cable := newWire(t, strings.TrimPrefix(member.Config.Host, "https://"))
	through := strings.ReplaceAll(string(member.Kubeconfig()), member.Config.Host, "https://"+cable.Addr().String())
	if err := w.Join(t.Context(), "team-b", []byte(through)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cable.mend()
		if err := w.Join(context.WithoutCancel(t.Context()), "team-b", member.Kubeconfig()); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-cable.used:
	case <-time.After(patience):
		t.Fatal("the manager does not use the new kubeconfig")
	}
	silent := newPlace(t, w, "team-b", "silent")
	const groups = 24
	for i := range groups {
		silent.apply(silent.group(fmt.Sprintf("vg-%d", i), 1, func(g *v1alpha1.VmGroup) { g.Spec.VCenter = bulk }))
	}
	vms := make([]string, 0, groups)
	for i := range groups {
		g := silent.untilRunning(fmt.Sprintf("vg-%d", i), 1)
		vms = append(vms, folderOf(t, g)+"/"+g.Status.VMs[0].Name)
	}
	cable.cut()
	for _, vm := range vms {
		if err := w.Person.PowerOff(t.Context(), vm); err != nil {
			t.Fatal(err)
		}
	}
	healthy := newPlace(t, w, "team-a", "beside-silence")
	for i := range 3 {
		name := fmt.Sprintf("vg-%d", i)
		began := time.Now()
		healthy.apply(healthy.group(name, 1, func(g *v1alpha1.VmGroup) { g.Spec.VCenter = bulk }))
		healthy.untilRunning(name, 1)
		if took := time.Since(began); took > prompt {
			t.Errorf("a group of a healthy member took %s while another member was silent", took)
		}
	}
	cable.mend()
	for i := range groups {
		silent.untilRunning(fmt.Sprintf("vg-%d", i), 1)
	}
}
