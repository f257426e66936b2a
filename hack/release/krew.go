package main

import (
	"strings"

	"sigs.k8s.io/yaml"
)

// packed is an archive with the plugin for a platform.
type packed struct{ platform, archive, sum string }

// krewPlugin is a manifest of krew, the package manager of kubectl plugins.
type krewPlugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       krewSpec          `json:"spec"`
}

type krewSpec struct {
	Version          string         `json:"version"`
	Homepage         string         `json:"homepage"`
	ShortDescription string         `json:"shortDescription"`
	Description      string         `json:"description"`
	Caveats          string         `json:"caveats"`
	Platforms        []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	Selector map[string]map[string]string `json:"selector"`
	URI      string                       `json:"uri"`
	SHA256   string                       `json:"sha256"`
	Bin      string                       `json:"bin"`
}

// krewManifest returns the manifest of the plugin. Its addresses are those of a release on GitHub with these files.
func krewManifest(version string, archives []packed) ([]byte, error) {
	plugin := krewPlugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": "vmgroup"},
		Spec: krewSpec{
			Version: "v" + version, Homepage: repository, ShortDescription: "Show and operate groups of VMs in vCenter",
			Description: "Shows which VmGroups of a fleet are not ready, and why. Plans and follows edits,\n" +
				"answers held requests, and joins member clusters to a hub.\n",
			Caveats: "The commands for a whole fleet need access to the hub of the VmGroup operator.\n" +
				"See " + repository + "/blob/v" + version + "/docs/reference/kubectl-vmgroup.md\n",
		},
	}
	for _, one := range archives {
		system, processor, _ := strings.Cut(one.platform, "/")
		program := pluginProgram
		if system == "windows" {
			program += ".exe"
		}
		plugin.Spec.Platforms = append(plugin.Spec.Platforms, krewPlatform{
			Selector: map[string]map[string]string{"matchLabels": {"os": system, "arch": processor}},
			URI:      repository + "/releases/download/v" + version + "/" + one.archive, SHA256: one.sum, Bin: program,
		})
	}
	return yaml.Marshal(plugin)
}
