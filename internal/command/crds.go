package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/codeconnect/vmgroup-operator/internal/crds"
)

var errCRDsCommand = errors.New("say manager crds apply or manager crds remove; see manager crds --help")

func crdsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "crds", Short: "Install, upgrade or remove the hub's CustomResourceDefinitions",
		RunE: func(*cobra.Command, []string) error { return errCRDsCommand },
	}
	timeout := c.PersistentFlags().Duration("timeout", time.Minute, "For how long what fails is tried again, and for how long the API server may take.")
	add := func(name, short string, run func(context.Context, client.Client, io.Writer) error) {
		c.AddCommand(&cobra.Command{
			Use: name, Short: short, Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				ctx, cancel := context.WithTimeout(c.Context(), *timeout)
				defer cancel()
				hub, err := crdClient()
				if err != nil {
					return err
				}
				return run(ctx, hub, c.OutOrStdout())
			},
		})
	}
	add("apply", "Install those that are missing and upgrade older ones; nothing is ever downgraded", crds.Apply)
	add("remove", "Delete those of which no object is left; the others stay", crds.Remove)
	return c
}

func crdClient() (client.Client, error) {
	kubeconfig, err := config.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the hub's API server: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	hub, err := client.New(kubeconfig, client.Options{Scheme: scheme, Mapper: crds.Mapper()})
	if err != nil {
		return nil, fmt.Errorf("connect to the hub: %w", err)
	}
	return hub, nil
}
