package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/enroll"
)

// bundleLifetime is how long the tokens of a bundle are valid by default. They leave this computer as text.
const bundleLifetime = time.Hour

type prepareOptions struct {
	*Options
	memberFlags
	output string
}

func prepareCommand(o *Options) *cobra.Command {
	p := prepareOptions{Options: o}
	c := &cobra.Command{
		Use: "prepare", Short: "Create the operator's identities in a member, and write a bundle for the administrator of the hub", Args: cobra.NoArgs,
		Long: `Creates the operator's identities in the member, and writes a bundle with tokens for them. The administrator of the hub passes the bundle to
kubectl vmgroup member join NAME --bundle FILE before its tokens expire, after an hour by default. The operator renews them afterwards.

The bundle contains credentials. To revoke them: kubectl vmgroup member revoke --only --member-context CONTEXT`,
		RunE: func(c *cobra.Command, _ []string) error { return p.run(c) },
	}
	p.add(c, bundleLifetime)
	c.Flags().StringVar(&p.output, "output", "", "New file for the bundle, which only you can read. The default is the standard output, unless that is a terminal.")
	return c
}

func (p *prepareOptions) run(c *cobra.Command) error {
	ctx := c.Context()
	if err := p.check(c); err != nil {
		return err
	}
	out, err := p.open()
	if err != nil {
		return err
	}
	contexts, err := cluster.Load(c.Context(), p.flags)
	if err != nil {
		return err
	}
	if p.context == "" {
		p.context = contexts.Current()
	}
	address, err := contexts.Address(p.context, p.server, p.authority)
	if err != nil {
		return err
	}
	member, facts, err := p.memberFlags.open(ctx, p.Options, contexts)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(p.ErrOut, "Member    context %s at %s, Kubernetes %s, UID %s\n", p.context, address.Server, facts.Version, facts.UID)
	bundle, err := enroll.Prepare(ctx, &enroll.Preparation{Member: member, UID: facts.UID, Address: address, Lifetime: p.lifetime}, facts)
	if err != nil {
		return err
	}
	content, err := bundle.Write()
	if err != nil {
		return err
	}
	return out(content)
}

// open returns a function that writes the bundle. It refuses a terminal and an existing file.
func (p *prepareOptions) open() (func([]byte) error, error) {
	if p.output == "" {
		if file, ok := p.Out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
			return nil, cluster.Usage("The bundle contains credentials. Write it to a file: kubectl vmgroup member prepare --output bundle.yaml")
		}
		return func(content []byte) error {
			_, err := p.Out.Write(content)
			return err
		}, nil
	}
	if _, err := os.Lstat(p.output); !errors.Is(err, fs.ErrNotExist) {
		return nil, cluster.Usage("%s exists, or cannot be checked. Name a new file.", p.output)
	}
	return func(content []byte) (err error) {
		file, err := os.OpenFile(p.output, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		_, err = file.Write(content)
		return err
	}, nil
}
