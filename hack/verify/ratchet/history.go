package ratchet

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// earlier returns the previous bounds: those of the last commit, or, if text is committed, those before that. It returns nil if there are
// none, for example in a copy without history.
func earlier(ctx context.Context, root string, text []byte) (*Bounds, error) {
	revisions, err := git(ctx, root, "log", "--max-count=2", "--format=%H", "--", File)
	if err != nil {
		return nil, nil //nolint:nilerr // a copy without history has nothing to compare with
	}
	for _, revision := range strings.Fields(string(revisions)) {
		before, err := git(ctx, root, "show", revision+":"+File)
		if err != nil {
			return nil, nil //nolint:nilerr // the commit that added the file
		}
		if bytes.Equal(before, text) {
			continue
		}
		bounds, err := parse(before)
		if err != nil {
			return nil, fmt.Errorf("in commit %s: %w", revision, err)
		}
		return &bounds, nil
	}
	return nil, nil
}

func git(ctx context.Context, root string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-c", "safe.directory=*"}, args...)...)
	command.Dir = root
	return command.Output()
}
