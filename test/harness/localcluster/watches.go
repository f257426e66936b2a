//go:build unix

package localcluster

import (
	"io"
	"sync"
)

// watches are the answers to watches that pass a proxy. While stalled, they deliver nothing.
type watches struct {
	mu sync.Mutex
	// resumed is closed when watches deliver again. It is nil while they deliver.
	resumed chan struct{}
	open    map[*watch]struct{}
}

func newWatches() *watches { return &watches{open: map[*watch]struct{}{}} }

func (w *watches) add(body io.ReadCloser) io.ReadCloser {
	one := &watch{ReadCloser: body, all: w, ended: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[one] = struct{}{}
	return one
}

func (w *watches) stall(stall bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case stall && w.resumed == nil:
		w.resumed = make(chan struct{})
	case !stall && w.resumed != nil:
		close(w.resumed)
		w.resumed = nil
	}
}

func (w *watches) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.open {
		one.end()
	}
}

func (w *watches) gate() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.resumed
}

// watch is the answer to one watch.
type watch struct {
	io.ReadCloser
	all   *watches
	once  sync.Once
	ended chan struct{}
}

// Read delivers events immediately, but none while watches are stalled.
func (w *watch) Read(b []byte) (int, error) {
	n, err := w.ReadCloser.Read(b)
	for gate := w.all.gate(); gate != nil; gate = w.all.gate() {
		select {
		case <-gate:
		case <-w.ended:
			return 0, io.ErrUnexpectedEOF
		}
	}
	return n, err
}

// Close ends the watch.
func (w *watch) Close() error {
	w.all.mu.Lock()
	delete(w.all.open, w)
	w.all.mu.Unlock()
	w.end()
	return nil
}

// end closes the answer, so that a blocked read returns.
func (w *watch) end() {
	w.once.Do(func() {
		close(w.ended)
		_ = w.ReadCloser.Close()
	})
}
