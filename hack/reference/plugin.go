package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cli"
)

// ofKubectl are the flags of kubectl, which the page does not repeat.
func ofKubectl(name string) bool {
	return name != "hub-context" && name != "operator-namespace" && name != "ascii" && name != "utc"
}

// pluginPage describes the commands of kubectl vmgroup.
func pluginPage() []byte {
	out := &bytes.Buffer{}
	root := cli.New(cli.Options{})
	fmt.Fprintf(out, "# kubectl vmgroup\n\n<!-- %s -->\n\n%s\n\n", generated("the commands in internal/plugin/cli"), root.Long)
	out.WriteString("[A release](../how-to/install.md#get-a-release) has `kubectl-vmgroup` for Linux, macOS and Windows, and `make plugin` builds `bin/kubectl-vmgroup`. Copy it into a directory of `$PATH`: kubectl then runs it as `kubectl vmgroup`. With `kubectl_complete-vmgroup` beside it, a shell that completes kubectl commands completes its commands and the names of objects. The verbs set [annotations](annotations.md).\n\n## Flags of all commands\n\n")
	flagTable(out, root.PersistentFlags(), ofKubectl)
	out.WriteString("\nOf the flags of kubectl, `--kubeconfig`, `--context`, `--as`, `--as-group`, `--as-uid` and `--request-timeout` have their usual meaning. `--as` applies to both clusters.\n")
	commands(out, root)
	return out.Bytes()
}

func commands(out *bytes.Buffer, parent *cobra.Command) {
	for _, c := range parent.Commands() {
		if c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		if c.HasSubCommands() {
			commands(out, c)
			continue
		}
		fmt.Fprintf(out, "\n## %s\n\n```\n%s\n```\n\n%s.\n", strings.TrimPrefix(c.CommandPath(), "kubectl vmgroup "), strings.TrimSuffix(c.UseLine(), " [flags]"), c.Short)
		if c.Long != "" {
			fmt.Fprintf(out, "\n%s\n", c.Long)
		}
		if c.Example != "" {
			fmt.Fprintf(out, "\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n"))
		}
		if c.LocalFlags().HasAvailableFlags() {
			out.WriteByte('\n')
			flagTable(out, c.LocalNonPersistentFlags(), func(name string) bool { return name == "help" })
		}
	}
}

func flagTable(out *bytes.Buffer, flags *pflag.FlagSet, omit func(name string) bool) {
	out.WriteString("| Flag | Default | Meaning |\n| --- | --- | --- |\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if omit(f.Name) || f.Hidden {
			return
		}
		value := ""
		if f.DefValue != "" && f.DefValue != "[]" {
			value = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(out, "| `--%s` | %s | %s |\n", f.Name, value, strings.ReplaceAll(f.Usage, "|", `\|`))
	})
}
