package main

import (
	"fmt"
	"slices"
	"strings"
)

// allPlatforms are the platforms of a release. Those of Linux have an image, and all have the kubectl plugin.
var allPlatforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// parsePlatforms returns the requested platforms in the order of [allPlatforms], so that the order of the flag changes no byte.
func parsePlatforms(list string) ([]string, error) {
	if strings.TrimSpace(list) == "" {
		return allPlatforms, nil
	}
	wanted := map[string]bool{}
	for platform := range strings.SplitSeq(list, ",") {
		platform = strings.TrimSpace(platform)
		if !slices.Contains(allPlatforms, platform) {
			return nil, fmt.Errorf("platform %q is not released: choose from %s with PLATFORM=", platform, strings.Join(allPlatforms, ","))
		}
		wanted[platform] = true
	}
	platforms := slices.DeleteFunc(slices.Clone(allPlatforms), func(platform string) bool { return !wanted[platform] })
	if len(withImage(platforms)) == 0 {
		return nil, fmt.Errorf("no platform of %s has an image: add linux/amd64 or linux/arm64 to PLATFORM=", list)
	}
	return platforms, nil
}

// withImage returns the platforms of the image.
func withImage(platforms []string) []string {
	return slices.DeleteFunc(slices.Clone(platforms), func(platform string) bool { return !strings.HasPrefix(platform, "linux/") })
}

// suffix is a platform in file names: linux_amd64.
func suffix(platform string) string { return strings.ReplaceAll(platform, "/", "_") }
