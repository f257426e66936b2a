package command

import (
	"context"
	"io"

	"github.com/spf13/cobra"
)

// run is a call of the manager with a subcommand.
func run(ctx context.Context, args []string, out io.Writer) error {
	root := &cobra.Command{Use: "manager"}
	AddTo(root, "dev")
	root.SetArgs(args)
	root.SetOut(out)
	return root.ExecuteContext(ctx)
}
