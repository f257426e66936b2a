package operator

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

// module is the path of the product's module. mainPackage is the package of the program in the module.
const (
	module      = "github.com/codeconnect/vmgroup-operator"
	mainPackage = "./cmd/manager"
)

// Compile builds the operator from the module in root for a platform such as linux/arm64, statically linked, and writes the program to
// output. The same version of Go and the same sources give the same bytes on every machine and in every directory. out receives the
// progress. If it is nil, standard error does.
func Compile(ctx context.Context, root, platform, version, output string, out io.Writer) error {
	env, err := buildEnvironment(platform)
	if err != nil {
		return err
	}
	build := progress.GoBuild{
		Label: "compiling the operator for " + platform, Hint: "a few minutes on two cores, and only the first time",
		Dir: root, Env: env, Output: output, Packages: []string{mainPackage}, Out: out,
		Flags: []string{"-ldflags", "-s -w -X main.version=" + version},
	}
	return build.Run(ctx)
}

// buildEnvironment overrides the environment variables of the builder that would change the program.
func buildEnvironment(platform string) ([]string, error) {
	system, processor, _ := strings.Cut(platform, "/")
	if system != "linux" || processor == "" || strings.Contains(processor, "/") {
		return nil, fmt.Errorf("platform %q is not of the form linux/amd64", platform)
	}
	return []string{
		"GOOS=" + system, "GOARCH=" + processor, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off",
	}, nil
}
