// Command manager is the VmGroup operator. It runs on the hub cluster.
//
//	manager            run the operator
//	manager version    print the version
//	manager render     print what a member needs that the operator does not manage
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

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

func run(args []string, out io.Writer) error {
	if len(args) == 1 {
		switch args[0] {
		case "version":
			_, err := fmt.Fprintln(out, version)
			return err
		case "render":
			return render(out)
		case "help":
			args = []string{"--help"}
		}
	}
	opts, err := parseOptions(args, out)
	if err != nil {
		return err
	}
	return start(ctrl.SetupSignalHandler(), opts)
}
