//go:build e2e

package e2e

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// logKeeper keeps the logs of containers that the kubelet removes with their Pods: a second name of a file keeps it.
type logKeeper struct {
	into string
	end  context.CancelFunc
	wait sync.WaitGroup
}

func keepLogs(from, into string) *logKeeper {
	ctx, cancel := context.WithCancel(context.Background())
	k := &logKeeper{into: into, end: cancel}
	k.wait.Go(func() {
		every(ctx, 200*time.Millisecond, func() { k.look(from) })
	})
	return k
}

func (k *logKeeper) look(from string) {
	_ = os.MkdirAll(k.into, 0o755)
	_ = filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".log") {
			return nil //nolint:nilerr // directories come and go
		}
		name, err := filepath.Rel(from, path)
		if err == nil {
			err = os.Link(path, //nolint:gosec // the kubelet alone writes there
				filepath.Join(k.into, strings.ReplaceAll(name, string(filepath.Separator), "_")))
		}
		if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	})
}

func (k *logKeeper) files() ([]string, error) {
	return filepath.Glob(filepath.Join(k.into, "*.log"))
}

func (k *logKeeper) stop() {
	k.end()
	k.wait.Wait()
}
