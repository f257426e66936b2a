//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/logcheck"
)

// ofOperator matches the log of a container that runs the operator, by the name of its Pod, which belongs to a
// Deployment. The Pods of Jobs have other names, and print for users.
var ofOperator = regexp.MustCompile(`_vmgroup-operator-[a-z0-9]{6,10}-[a-z0-9]{5}_[0-9a-f-]+_manager_\d+\.log$`)

// eachLineThatTheOperatorLogsIsJSON reads the logs of all containers of the operator, including those that were killed
// or replaced.
func eachLineThatTheOperatorLogsIsJSON(t *testing.T) {
	files, err := world.logs.files()
	must(t, err)
	logs, lines := 0, 0
	for _, file := range files {
		if !ofOperator.MatchString(file) {
			continue
		}
		content, err := os.ReadFile(file)
		must(t, err)
		log, err := logcheck.Container(content)
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
		for _, problem := range logcheck.Problems(log, containsPassword) {
			t.Errorf("%s, %v", filepath.Base(file), problem)
		}
		logs, lines = logs+1, lines+bytes.Count(log, []byte("\n"))
	}
	// Three replicas are installed at least once.
	if logs < 3 || lines < 100 {
		t.Errorf("read %d lines of %d containers, want 100 of 3 or more", lines, logs)
	}
	t.Logf("read %d lines of %d containers", lines, logs)
}

// logKeeper keeps the logs of containers that the kubelet removes with their Pods: a hard link to a file keeps it.
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
