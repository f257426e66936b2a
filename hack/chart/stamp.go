package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/config/crd"
)

// keep is the annotation of objects that Helm and Argo CD must not delete. Only the chart's copies of the CRDs have it.
var keep = map[string]string{"helm.sh/resource-policy": "keep"}

// stampBases writes the operator's version and hash annotations into each generated CRD file. A CRD that a user applies from a file without
// them has no version, and an older operator would replace it. wanted are the operator's CRDs.
func stampBases(bases string, wanted []*apiextensionsv1.CustomResourceDefinition) error {
	stamps := map[string]map[string]string{}
	for _, definition := range wanted {
		stamps[definition.Name] = map[string]string{}
		for _, key := range []string{crd.VersionAnnotation, crd.HashAnnotation} {
			stamps[definition.Name][key] = definition.Annotations[key]
		}
	}
	return eachCRD(bases, func(name string) (map[string]string, error) {
		if stamps[name] == nil {
			return nil, fmt.Errorf("the operator does not have the CRD %s", name)
		}
		return stamps[name], nil
	})
}

// keepCRDs annotates the CRDs in a folder so that they stay when the release is uninstalled.
func keepCRDs(folder string) error {
	return eachCRD(folder, func(string) (map[string]string, error) { return keep, nil })
}

// eachCRD annotates the CRDs in a folder.
func eachCRD(folder string, annotations func(name string) (map[string]string, error)) error {
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(paths) == 0 {
		return errors.Join(err, fmt.Errorf("%s has no YAML files", folder))
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(content, definition); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		wanted, err := annotations(definition.Name)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		stamped, err := annotated(string(content), wanted)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := os.WriteFile(path, []byte(stamped), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// block matches the annotations of the first object in a file of controller-gen. Only the object's metadata has annotations.
var block = regexp.MustCompile(`(?m)^  annotations:\n((?:    .+\n)+)`)

// annotated sets annotations in the text of an object. All other lines stay, including comments.
func annotated(content string, wanted map[string]string) (string, error) {
	place := block.FindStringSubmatchIndex(content)
	if place == nil {
		return "", errors.New("it has no annotations, which controller-gen always writes")
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSuffix(content[place[2]:place[3]], "\n"), "\n"), func(line string) bool {
		key, _, _ := strings.Cut(strings.TrimSpace(line), ": ")
		_, again := wanted[key]
		return again
	})
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		lines = append(lines, fmt.Sprintf("    %s: %q", key, wanted[key]))
	}
	slices.Sort(lines)
	return content[:place[2]] + strings.Join(lines, "\n") + "\n" + content[place[3]:], nil
}
