// Command progress is `go build` with visible progress:
//
//	go run ./hack/progress -o bin/manager ./cmd/manager
//	go run ./hack/progress -tests ./...     # only the imports of these packages' tests from other modules
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "progress:", err)
		os.Exit(1)
	}
}

func run() error {
	output := flag.String("o", "", "file to write; without it the packages are compiled only")
	ldflags := flag.String("ldflags", "", "flags for the linker")
	tests := flag.Bool("tests", false, "compile the dependencies of the packages and of their tests only")
	label := flag.String("label", "compiling", "what to call it")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	build := progress.GoBuild{
		Label: *label, Hint: "a few minutes on two cores, and only the first time",
		Output: *output, Packages: flag.Args(), TestDependencies: *tests,
	}
	if *output != "" {
		build.Flags = []string{"-ldflags", *ldflags}
	}
	return build.Run(ctx)
}
