package assets

import (
	"context"
	"io"
	"os/exec"
)

// Kubectl returns the path of kubectl: the installed one, as users have it, or else the one that tools/kubectl pins.
func Kubectl(ctx context.Context, out io.Writer) (string, error) {
	if path, err := exec.LookPath("kubectl"); err == nil {
		return path, nil
	}
	return Tool(ctx, "kubectl", out)
}
