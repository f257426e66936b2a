// Command image makes the operator's container image, without Docker, a registry or a base image:
//
//	go run ./hack/image -version 1.2.3                                 # into dist/image
//	go run ./hack/image -version 1.2.3 -platform linux/amd64,linux/arm64
//	go run ./hack/image -version 1.2.3 -push registry.example.com/team/vmgroup-operator
//	go run ./hack/image -version 1.2.3 -rootfs /rootfs                 # only its files, for the Dockerfile
//
// `make image` runs it. See docs/contributing/image.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
	"github.com/codeconnect/vmgroup-operator/hack/image/operator"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

func main() {
	if err := runCommand(); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func runCommand() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	version := flag.String("version", "dev", "version of the operator, and the tag of the image; v1.2.3 is 1.2.3")
	platforms := flag.String("platform", "", "comma-separated, such as linux/amd64,linux/arm64; empty is this machine's")
	name := flag.String("name", "vmgroup-operator", "name of the image, with the registry if it has one")
	out := flag.String("out", filepath.Join("dist", "image"), "directory to write to")
	push := flag.String("push", "", "also push to this name in a registry, with the version as its tag unless it has one")
	rootfs := flag.String("rootfs", "", "write the files of the image to this directory and nothing else")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: there are flags only", flag.Arg(0))
	}
	root, err := assets.Root()
	if err != nil {
		return err
	}
	release, err := operator.NewRelease(ctx, root, *version)
	if err != nil {
		return err
	}
	made := &making{
		root: root, out: *out, reference: *name + ":" + release.Version, release: release, platforms: platformList(*platforms),
	}
	// Check the name before the compiler runs for minutes.
	if err := oci.CheckName(made.reference); err != nil {
		return fmt.Errorf("%w; the version is its tag, choose another one with VERSION=", err)
	}
	if *rootfs != "" {
		return made.extract(ctx, *rootfs)
	}
	return made.write(ctx, *push)
}

// platformList splits the flag. An empty flag means the processor of this machine.
func platformList(flag string) []string {
	if strings.TrimSpace(flag) == "" {
		return []string{"linux/" + runtime.GOARCH}
	}
	var platforms []string
	for platform := range strings.SplitSeq(flag, ",") {
		platforms = append(platforms, strings.TrimSpace(platform))
	}
	return platforms
}
