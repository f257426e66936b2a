package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

var errNoCommit = errors.New("say from which version: make test-upgrade FROM=<commit or tag>")

// Program builds the operator of a commit of the repository root, in dir, and returns the path of its binary and
// the commit's hash.
func Program(ctx context.Context, root, commit, dir string, out io.Writer) (binary, hash string, err error) {
	if commit == "" {
		return "", "", errNoCommit
	}
	hash, err = git(ctx, root, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{commit}")
	if err != nil {
		return "", "", fmt.Errorf("there is no commit %q in this clone. A shallow one lacks most: git fetch --unshallow --tags", commit)
	}
	source, archive := filepath.Join(dir, "source"), filepath.Join(dir, "source.tar")
	if err := os.Mkdir(source, 0o700); err != nil {
		return "", "", err
	}
	if _, err := git(ctx, root, "archive", "--output="+archive, hash); err != nil {
		return "", "", err
	}
	if said, err := exec.CommandContext(ctx, "tar", "-xf", archive, "-C", source).CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("unpack commit %s: %w: %s", hash, err, said)
	}
	binary = filepath.Join(dir, "manager")
	err = progress.GoBuild{
		Label: "the manager of " + hash[:8], Hint: "a few minutes the first time", Dir: source,
		Flags: []string{"-ldflags=-s -w -X main.version=" + hash[:8]}, Packages: []string{"./cmd/manager"}, Output: binary, Out: out,
	}.Run(ctx)
	if err != nil {
		return "", "", fmt.Errorf("build the manager of commit %s: %w", hash, err)
	}
	return binary, hash, nil
}

// git runs a command in the repository and returns its output.
func git(ctx context.Context, root string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...)
	out, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
