package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// pins are what a release knows and the chart of the sources does not.
type pins struct {
	version, registry, digest string
	changes                   []change
}

// chartMembers returns the files of the packaged chart, sorted by name, and the content of its Chart.yaml as JSON. dir is the chart of the sources.
func chartMembers(dir string, of pins) (members []member, metadata []byte, err error) {
	ignored, err := ignoredBy(filepath.Join(dir, ".helmignore"))
	if err != nil {
		return nil, nil, err
	}
	files := os.DirFS(dir)
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if ignored(name) {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			return nil
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if content, err = of.pin(name, content); err != nil {
			return fmt.Errorf("chart file %s: %w", name, err)
		}
		if name == "Chart.yaml" {
			if metadata, err = yaml.YAMLToJSON(content); err != nil {
				return err
			}
		}
		members = append(members, member{name: path.Join("vmgroup-operator", name), content: content, mode: 0o644})
		return nil
	})
	return members, metadata, err
}

// ignoredBy returns a function for the patterns of a .helmignore. It knows the forms that the chart uses.
func ignoredBy(file string) (func(name string) bool, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	patterns := []string{"/.helmignore"}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "!") || strings.Contains(strings.Trim(line, "/"), "/") {
			return nil, fmt.Errorf("%s: the release does not know the pattern %q; use a name, a glob or /folder/", file, line)
		}
		patterns = append(patterns, line)
	}
	return func(name string) bool {
		for _, pattern := range patterns {
			text := path.Base(name)
			if strings.HasPrefix(pattern, "/") {
				text = name
			}
			if matched, err := path.Match(strings.Trim(pattern, "/"), text); matched && err == nil {
				return true
			}
		}
		return false
	}, nil
}

// pin sets the values of a release in a file of the chart.
func (p pins) pin(name string, content []byte) ([]byte, error) {
	switch name {
	case "Chart.yaml":
		return p.metadata([]byte(p.links(string(content))))
	case "values.yaml", "files/defaults.yaml":
		return p.values(content)
	case "README.md":
		return []byte(p.links(string(content))), nil
	}
	return content, nil
}

// links replaces links to the newest pages by links to those of the version.
func (p pins) links(text string) string {
	for _, kind := range []string{"blob", "tree"} {
		text = strings.ReplaceAll(text, repository+"/"+kind+"/HEAD/", repository+"/"+kind+"/v"+p.version+"/")
	}
	return text
}

// metadata adds the annotations of Artifact Hub that are known only now.
func (p pins) metadata(content []byte) ([]byte, error) {
	var chart map[string]any
	if err := yaml.Unmarshal(content, &chart); err != nil {
		return nil, err
	}
	annotations, ok := chart["annotations"].(map[string]any)
	if !ok {
		return nil, errors.New("it has no annotations")
	}
	listed, err := yaml.Marshal(p.changes)
	if err != nil {
		return nil, err
	}
	images, err := yaml.Marshal([]map[string]string{{"name": "vmgroup-operator", "image": p.image() + ":" + p.version + "@" + p.digest}})
	if err != nil {
		return nil, err
	}
	annotations["artifacthub.io/changes"], annotations["artifacthub.io/images"] = string(listed), string(images)
	return yaml.Marshal(chart)
}

// image is the name of the image without tag and digest.
func (p pins) image() string { return path.Join(p.registry, "vmgroup-operator") }

var (
	emptyRegistry = regexp.MustCompile(`(?m)^  registry: ""$`)
	emptyDigest   = regexp.MustCompile(`(?m)^  digest: ""$`)
)

// values sets the image in the text of the values, so that their comments stay.
func (p pins) values(content []byte) ([]byte, error) {
	text := string(content)
	for key, one := range map[string]struct {
		empty *regexp.Regexp
		value string
	}{"registry": {emptyRegistry, p.registry}, "digest": {emptyDigest, p.digest}} {
		if found := len(one.empty.FindAllString(text, -1)); found != 1 {
			return nil, fmt.Errorf("it has %d lines %q, want the one of the image", found, "  "+key+`: ""`)
		}
		value, err := json.Marshal(one.value)
		if err != nil {
			return nil, err
		}
		text = one.empty.ReplaceAllLiteralString(text, "  "+key+": "+string(value))
	}
	var values struct {
		Image struct{ Registry, Digest string }
	}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		return nil, err
	}
	if values.Image.Digest != p.digest || values.Image.Registry != p.registry {
		return nil, errors.New("the empty registry or digest is not that of the image")
	}
	return []byte(text), nil
}
