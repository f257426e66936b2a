package cli

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/enroll"
	"github.com/codeconnect/vmgroup-operator/internal/term"
)

// bundleLifetime is how long the tokens of a bundle are valid by default. They leave this computer as text.
const bundleLifetime = time.Hour

func prepareCommand(o *Options) *cobra.Command {
	f := memberFlags{}
	c := &cobra.Command{
		Use: "prepare", Short: "Create the operator's identities in a member, and print a bundle for the administrator of the hub", Args: cobra.NoArgs,
		Long: `Creates the operator's identities in the member, and prints a bundle with tokens for them. The administrator of the hub passes the bundle to
kubectl vmgroup member join NAME --bundle FILE before its tokens expire, after an hour by default. The operator renews them afterwards.

The bundle contains credentials. To revoke them: kubectl vmgroup member revoke --member-context CONTEXT`,
		RunE: func(c *cobra.Command, _ []string) error { return prepare(c, o, &f) },
	}
	f.add(c, bundleLifetime)
	return c
}

func prepare(c *cobra.Command, o *Options, f *memberFlags) error {
	if file, ok := o.Out.(*os.File); ok {
		if _, terminal := term.SizeOf(file); terminal {
			return cluster.Usage("The bundle contains credentials. Write it to a file: kubectl vmgroup member prepare > bundle.yaml")
		}
	}
	contexts, err := cluster.Load(o.flags)
	if err != nil {
		return err
	}
	if f.context == "" {
		f.context = contexts.Current()
	}
	p, facts, err := f.preparation(c.Context(), o, contexts)
	if err != nil {
		return err
	}
	bundle, err := enroll.Prepare(c.Context(), p, facts)
	if err != nil {
		return err
	}
	content, err := bundle.Write()
	if err != nil {
		return err
	}
	_, err = o.Out.Write(content)
	return err
}
