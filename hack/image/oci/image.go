package oci

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// NonRoot is the default user and group of an [Image]. It is a number because kubelet checks runAsNonRoot without the image's /etc/passwd.
const NonRoot = "65532:65532"

// Program is one executable of an image. It has its own layer, so that a change to it does not reload the other programs.
type Program struct {
	// Source is a file on this machine: a statically linked executable, as built with CGO_ENABLED=0.
	Source string
	// Path is its absolute path in the image.
	Path string
}

// File is a file or directory of an image besides its programs. Missing parent directories are created.
type File struct {
	// Path is absolute.
	Path string
	// Content of the file. A directory has none.
	Content []byte
	// Mode of the file, by default 0444. With [fs.ModeDir] it is a directory. [fs.ModeSticky] is kept.
	Mode fs.FileMode
}

// Image describes an image for one platform.
type Image struct {
	// Platform is, for example, linux/arm64. If it is empty, it is linux on the processor of this machine.
	Platform string
	// Programs has at least one element.
	Programs []Program
	// Files are in the first layer, before the programs. Their order here has no effect.
	Files []File
	// User is the numeric user, or user:group. If it is empty, it is [NonRoot].
	User string
	// Entrypoint is the command. If it is empty, it is the first program without arguments.
	Entrypoint []string
	// Env has entries of the form NAME=value.
	Env []string
	// Labels are also the annotations of the image's manifest.
	Labels map[string]string
	// Created is the creation time in the image. Zero means 1970. It changes the digest.
	Created time.Time
}

// Build reads the programs and makes the image in memory.
func (i Image) Build() (v1.Image, error) {
	if len(i.Programs) == 0 {
		return nil, errors.New("an image needs a program")
	}
	platform, err := parsePlatform(i.Platform)
	if err != nil {
		return nil, err
	}
	additions, err := i.layers(platform)
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: time.Unix(0, 0).UTC()}
	if !i.Created.IsZero() {
		created.Time = i.Created.UTC().Truncate(time.Second)
	}
	config := &v1.ConfigFile{
		Architecture: platform.Architecture, Variant: platform.Variant, OS: platform.OS, Created: created,
		Config: v1.Config{User: i.user(), Entrypoint: i.entrypoint(), Env: i.Env, Labels: i.Labels, WorkingDir: "/"},
		RootFS: v1.RootFS{Type: "layers"},
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.ConfigFile(base, config)
	if err != nil {
		return nil, fmt.Errorf("set the image's configuration: %w", err)
	}
	for n := range additions {
		additions[n].History.Created = created
	}
	if image, err = mutate.Append(image, additions...); err != nil {
		return nil, fmt.Errorf("add the image's layers: %w", err)
	}
	if len(i.Labels) > 0 {
		image = mutate.Annotations(image, i.Labels).(v1.Image)
	}
	return image, nil
}

// layers makes one layer of all files, and one of each program.
func (i Image) layers(platform v1.Platform) ([]mutate.Addendum, error) {
	var additions []mutate.Addendum
	add := func(by string, files []File) error {
		layer, err := newLayer(files)
		if err != nil {
			return err
		}
		history := v1.History{CreatedBy: by}
		additions = append(additions, mutate.Addendum{Layer: layer, History: history, MediaType: types.OCILayer})
		return nil
	}
	if len(i.Files) > 0 {
		if err := add("files", i.Files); err != nil {
			return nil, err
		}
	}
	for _, program := range i.Programs {
		content, err := os.ReadFile(program.Source)
		if err != nil {
			return nil, fmt.Errorf("read the program %s: %w", program.Path, err)
		}
		if err := checkProgram(content, platform); err != nil {
			return nil, fmt.Errorf("%s cannot be %s of an image for %s: %w", program.Source, program.Path, platform, err)
		}
		if err := add(program.Path, []File{{Path: program.Path, Content: content, Mode: 0o555}}); err != nil {
			return nil, err
		}
	}
	return additions, nil
}

func (i Image) user() string {
	if i.User == "" {
		return NonRoot
	}
	return i.User
}

func (i Image) entrypoint() []string {
	if len(i.Entrypoint) == 0 {
		return []string{path.Clean(i.Programs[0].Path)}
	}
	return i.Entrypoint
}

// parsePlatform parses linux/<processor>[/<variant>]. Linux containers run nothing else.
func parsePlatform(text string) (v1.Platform, error) {
	if text == "" {
		return v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, nil
	}
	parts := strings.Split(text, "/")
	if len(parts) < 2 || len(parts) > 3 || parts[0] != "linux" || slices.Contains(parts, "") {
		return v1.Platform{}, fmt.Errorf("platform %q is not of the form linux/amd64", text)
	}
	platform := v1.Platform{OS: parts[0], Architecture: parts[1]}
	if len(parts) == 3 {
		platform.Variant = parts[2]
	}
	return platform, nil
}
