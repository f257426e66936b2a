// Command manager is the VmGroup operator. It runs on the hub cluster.
//
//	manager            run the operator
//	manager shards     print which replica holds which share of the groups
//	manager check      say whether the operator on this hub is healthy
//	manager crds       install, upgrade or remove the hub's CustomResourceDefinitions
//	manager version    print the version
//	manager render     print what a member needs that the operator does not manage, or how to remove it
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// version is set by the linker.
var version = "dev"

func main() {
	err := run(os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

// commands are what the program does besides running the operator, for a person or a job.
var commands = map[string]func(ctx context.Context, args []string, out io.Writer) error{
	"render": render, "shards": shards, "check": check, "crds": crds,
}

func run(args []string, out io.Writer) error {
	if len(args) == 1 {
		switch args[0] {
		case "version":
			_, err := fmt.Fprintln(out, version)
			return err
		case "help":
			args = []string{"--help"}
		}
	}
	if len(args) > 0 && commands[args[0]] != nil {
		ctrl.SetLogger(logr.Discard()) // what goes wrong is returned
		return commands[args[0]](context.Background(), args[1:], out)
	}
	opts, err := parseOptions(args, out)
	if err != nil {
		return err
	}
	return start(ctrl.SetupSignalHandler(), opts)
}
