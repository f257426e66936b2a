// Command release makes all files of a release from a commit, into dist/release:
//
//	go run ./hack/release -version 0.2.0
//	go run ./hack/release -version 0.2.0 -platform linux/amd64       # one platform, for a test
//	go run ./hack/release -version 0.2.0 -push registry.example.com/team
//
// Two builds of one commit are equal byte by byte. `make release` runs it. See docs/contributing/release.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
	"github.com/codeconnect/vmgroup-operator/hack/image/operator"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	version := flag.String("version", "", "version of the release, such as 0.2.0; v0.2.0 is the same")
	list := flag.String("platform", "", "comma-separated platforms; empty is all of "+strings.Join(allPlatforms, ","))
	registry := flag.String("registry", "", "registry of the image that chart and manifests name, such as registry.example.com/team; empty is none")
	out := flag.String("out", filepath.Join("dist", "release"), "directory for the directory of the release")
	push := flag.String("push", "", "also copy image and chart below this name in a registry, such as registry.example.com/team")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: there are flags only", flag.Arg(0))
	}
	root, err := assets.Root()
	if err != nil {
		return err
	}
	platforms, err := parsePlatforms(*list)
	if err != nil {
		return err
	}
	made := &making{
		root: root, platforms: platforms, registry: strings.TrimSuffix(*registry, "/"), push: strings.TrimSuffix(*push, "/"),
		version: operator.Version(*version),
	}
	for flag, above := range map[string]string{"-registry (REGISTRY=)": made.registry, "-push (PUSH=)": made.push} {
		if err := checkRegistry(flag, above); err != nil {
			return err
		}
	}
	if made.source, err = readyCommit(ctx, root, made.version); err != nil {
		return err
	}
	for _, name := range []string{made.imageName(), made.pushTo()[imageTag(made.version)]} {
		if err := oci.CheckName(name); err != nil {
			return err
		}
	}
	place, err := filepath.Abs(filepath.Join(*out, "v"+made.version))
	if err != nil {
		return err
	}
	return made.write(ctx, place)
}
