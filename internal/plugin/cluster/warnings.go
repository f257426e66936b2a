package cluster

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// warnings writes each warning once, however many requests get it.
type warnings struct {
	mu   sync.Mutex
	out  io.Writer
	seen map[string]bool
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext. Code 299 marks the warnings of Kubernetes.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, code int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code != 299 || text == "" || w.seen[text] {
		return
	}
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	w.seen[text] = true
	_, _ = fmt.Fprintln(w.out, "Warning:", untrusted.Text(text, longest))
}

// Collected has warnings in the order of their arrival.
type Collected struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (c *Collected) HandleWarningHeaderWithContext(_ context.Context, code int, _, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if code == 299 && text != "" {
		c.texts = append(c.texts, text)
	}
}

// Take returns the warnings since the last call.
func (c *Collected) Take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	texts := c.texts
	c.texts = nil
	return texts
}
