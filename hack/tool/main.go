// Command tool prints the path of a program that the repository pins. If this machine has not built it
// yet, it builds it first:
//
//	go run ./hack/tool golangci-lint    # a module below tools/
//	go run ./hack/tool assets           # the directory with kube-apiserver and etcd
//	go run ./hack/tool -list            # the names
//
// Progress goes to standard error, the path to standard output.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tool:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	list := flag.Bool("list", false, "print the names of the tools")
	flag.Parse()
	switch {
	case *list:
		names, err := assets.Tools()
		if err != nil {
			return err
		}
		fmt.Println(strings.Join(names, "\n"))
		return nil
	case flag.NArg() != 1:
		return fmt.Errorf("usage: go run ./hack/tool NAME | assets | -list")
	case flag.Arg(0) == "assets":
		return show(assets.Ensure(ctx, os.Stderr))
	default:
		return show(assets.Tool(ctx, flag.Arg(0), os.Stderr))
	}
}

func show(path string, err error) error {
	if err == nil {
		fmt.Println(path)
	}
	return err
}
