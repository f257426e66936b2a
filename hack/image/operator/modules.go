package operator

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// linkedModule is a module that a program was linked from.
type linkedModule struct {
	path, version string
	// sum is the SHA-256 from go.sum, in hexadecimal.
	sum string
	// dir contains its sources on this machine.
	dir string
	// imports are the paths of the modules that its packages import.
	imports []string
}

// linkedModules returns the main module and all others, sorted by path. The list of linked modules and their versions comes from the
// program. The directories of the sources and the imports come from the go command.
func (p Program) linkedModules(ctx context.Context, root, platform, program string) (main linkedModule, others []linkedModule, err error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return main, nil, fmt.Errorf("read what the program was linked from: %w", err)
	}
	sources, err := p.listSources(ctx, root, platform)
	if err != nil {
		return main, nil, err
	}
	mainSource, found := sources[info.Main.Path]
	if want := path.Join(module, p.mainPackage()); !found || info.Path != want {
		return main, nil, fmt.Errorf("the program is %s, not %s of the sources in %s", info.Path, want, root)
	}
	main = linkedModule{path: info.Main.Path, dir: mainSource.dir, imports: mainSource.imports()}
	for _, dependency := range info.Deps {
		if dependency.Replace != nil {
			dependency = dependency.Replace
		}
		source, found := sources[dependency.Path]
		if !found || source.version != dependency.Version {
			return main, nil, fmt.Errorf("the program is linked from %s %s, but the sources say %q: compile it again",
				dependency.Path, dependency.Version, source.version)
		}
		sum, err := hexSum(dependency.Sum)
		if err != nil {
			return main, nil, fmt.Errorf("checksum of %s: %w", dependency.Path, err)
		}
		others = append(others, linkedModule{
			path: dependency.Path, version: dependency.Version, sum: sum, dir: source.dir, imports: source.imports(),
		})
	}
	slices.SortFunc(others, func(a, b linkedModule) int { return cmp.Compare(a.path, b.path) })
	return main, others, nil
}

// hexSum converts "h1:<base64>", the only form that Go writes.
func hexSum(sum string) (string, error) {
	encoded, ok := strings.CutPrefix(sum, "h1:")
	if !ok {
		return "", fmt.Errorf("%q does not begin with h1", sum)
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	return hex.EncodeToString(raw), err
}

// source is the go command's data about a module with a package that a program needs.
type source struct {
	version, dir string
	needs        map[string]bool
}

func (s *source) imports() []string {
	paths := make([]string, 0, len(s.needs))
	for path := range s.needs {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// listedPackage contains the used fields of the output of `go list -json`.
type listedPackage struct {
	ImportPath string
	Imports    []string
	Module     *struct{ Path, Version, Dir string }
}

// listSources lists the linked packages by module, with the go command.
func (p Program) listSources(ctx context.Context, root, platform string) (map[string]*source, error) {
	env, err := buildEnvironment(platform)
	if err != nil {
		return nil, err
	}
	out, err := goList(ctx, root, env, "-deps", "-json=ImportPath,Imports,Module", p.mainPackage())
	if err != nil {
		return nil, err
	}
	var packages []listedPackage
	moduleOf := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed listedPackage
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read what the program imports: %w", err)
		}
		// Packages of the standard library have no module.
		if listed.Module != nil {
			packages = append(packages, listed)
			moduleOf[listed.ImportPath] = listed.Module.Path
		}
	}
	sources := map[string]*source{}
	for _, listed := range packages {
		from := sources[listed.Module.Path]
		if from == nil {
			from = &source{version: listed.Module.Version, dir: listed.Module.Dir, needs: map[string]bool{}}
			sources[listed.Module.Path] = from
		}
		for _, path := range listed.Imports {
			if to := moduleOf[path]; to != "" && to != listed.Module.Path {
				from.needs[to] = true
			}
		}
	}
	return sources, nil
}

// moduleVersion returns the version of a module that the module in root requires.
func moduleVersion(ctx context.Context, root, path string) (string, error) {
	out, err := goList(ctx, root, []string{"GOFLAGS=", "GOWORK=off"}, "-m", "-f", "{{.Version}}", path)
	return strings.TrimSpace(string(out)), err
}

func goList(ctx context.Context, root string, env []string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", append([]string{"list"}, args...)...)
	command.Dir, command.Env = root, append(os.Environ(), env...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}
