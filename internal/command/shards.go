package command

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/codeconnect/vmgroup-operator/internal/shards"
)

func shardsCommand() *cobra.Command {
	var namespace string
	c := &cobra.Command{
		Use: "shards", Short: "Print which replica holds which share of the groups", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return printShards(c.Context(), namespace, c.OutOrStdout()) },
	}
	NamespaceFlag(c.Flags(), &namespace)
	return c
}

// printShards prints the holders of the buckets, as stored on the hub.
func printShards(ctx context.Context, namespace string, out io.Writer) error {
	kubeconfig, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("find the hub's API server: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	snapshot, err := shards.Read(ctx, kubeconfig, namespace)
	if err != nil {
		return err
	}
	return shards.Print(out, snapshot, time.Now())
}
