package operator

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

// module is the path of the product's module.
const module = "github.com/codeconnect/vmgroup-operator"

// Compile builds the operator for its image, for a platform such as linux/arm64. [Program.Compile] has the rest.
func Compile(ctx context.Context, root, platform, version, output string, out io.Writer) error {
	if err := imagePlatform(platform); err != nil {
		return err
	}
	return Manager.Compile(ctx, root, platform, version, output, out)
}

// Compile builds the program from the module in root for a platform, statically linked, and writes it to output. The same version of Go
// and the same sources give the same bytes on every machine and in every directory. out receives the progress. If it is nil, standard
// error does.
func (p Program) Compile(ctx context.Context, root, platform, version, output string, out io.Writer) error {
	env, err := buildEnvironment(platform)
	if err != nil {
		return err
	}
	build := progress.GoBuild{
		Label: "compiling " + p.Title + " for " + platform, Hint: "a few minutes on two cores, and only the first time",
		Dir: root, Env: env, Output: output, Packages: []string{p.mainPackage()}, Out: out,
		Flags: []string{"-ldflags", "-s -w -X main.version=" + version},
	}
	return build.Run(ctx)
}

// imagePlatform refuses platforms without Linux containers.
func imagePlatform(platform string) error {
	if !strings.HasPrefix(platform, "linux/") {
		return wrongPlatform(platform)
	}
	return nil
}

func wrongPlatform(platform string) error {
	return fmt.Errorf("platform %q is not of the form linux/amd64", platform)
}

// buildEnvironment overrides the environment variables of the builder that would change the program.
func buildEnvironment(platform string) ([]string, error) {
	system, processor, _ := strings.Cut(platform, "/")
	if system == "" || processor == "" || strings.Contains(processor, "/") {
		return nil, wrongPlatform(platform)
	}
	return []string{
		"GOOS=" + system, "GOARCH=" + processor, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off",
	}, nil
}
