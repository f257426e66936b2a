//go:build unix

package crash

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Entry is one line of a ledger.
type Entry struct {
	// Binary is the hash of the tested manager: another one requires new trials.
	Binary string `json:"binary"`
	Point  string `json:"point"`
	// Reached is false if the run had no such call.
	Reached bool `json:"reached"`
	// Wrong is empty on success.
	Wrong []string `json:"wrong,omitempty"`
	// Seconds is the duration of the trial.
	Seconds float64 `json:"seconds"`
}

// Ledger is a file of results, one JSON object per line. Results are appended as they arrive, so that an
// interrupted run can resume.
type Ledger struct {
	binary string
	mu     sync.Mutex
	file   *os.File
	done   map[string]Entry
}

// OpenLedger opens or creates a ledger and reads the results of this binary. It ignores a truncated line of a
// killed run.
func OpenLedger(path, binary string) (*Ledger, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("make the ledger's directory: %w", err)
	}
	l := &Ledger{binary: binary, done: map[string]Entry{}}
	if err := l.read(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	l.file = file
	// After a truncated line.
	_, err = file.WriteString("\n")
	return l, err
}

func (l *Ledger) read(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e Entry
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Binary == l.binary {
			l.done[e.Point] = e
		}
	}
	return lines.Err()
}

// Passed reports whether a point was tried successfully.
func (l *Ledger) Passed(p Point) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.done[p.String()]
	return ok && len(e.Wrong) == 0
}

// Add records a result.
func (l *Ledger) Add(e Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Binary = l.binary
	l.done[e.Point] = e
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode a result: %w", err)
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write a result: %w", err)
	}
	return nil
}

// Entries returns all results with this binary.
func (l *Ledger) Entries() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Entry, 0, len(l.done))
	for _, e := range l.done {
		all = append(all, e)
	}
	return all
}

// Close closes the file.
func (l *Ledger) Close() error { return l.file.Close() }
