package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestThePageOfTheCommandsHasEachFlag compares docs/reference/cli.md with all commands, both ways.
func TestThePageOfTheCommandsHasEachFlag(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for name := range strings.SplitSeq(cells[1], ",") {
			if name = strings.Trim(name, " `"); strings.Contains(name, "--") && strings.Trim(name, "-") != "" {
				documented = append(documented, name)
			}
		}
	}
	root := newCommand(func(context.Context, options) error { return nil })
	var flags []string
	add := func(c *cobra.Command, before string) {
		visit := func(f *pflag.Flag) {
			if !strings.HasPrefix(f.Name, "zap-") && !f.Hidden && f.Name != "help" {
				flags = append(flags, before+"--"+f.Name)
			}
		}
		c.LocalFlags().VisitAll(visit)
	}
	add(root, "")
	var below func(c *cobra.Command, before string)
	below = func(c *cobra.Command, before string) {
		for _, sub := range c.Commands() {
			add(sub, before+sub.Name()+" ")
			below(sub, before+sub.Name()+" ")
		}
	}
	below(root, "")
	for _, flag := range flags {
		if !slices.Contains(documented, flag) {
			t.Errorf("docs/reference/cli.md has no row of %s", flag)
		}
	}
	for _, row := range documented {
		if !slices.Contains(flags, row) && row != "--zap-*" {
			t.Errorf("docs/reference/cli.md has a row of %s, which no command has", row)
		}
	}
	if len(flags) < 30 {
		t.Errorf("only %d flags were found", len(flags))
	}
}
