package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func versionCommand(o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of the plugin", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(o.Out, o.Version)
			return err
		},
	}
}
