package main

import (
	"strings"
	"time"
)

// The plugin and the program that kubectl calls to complete its arguments.
const (
	pluginProgram  = "kubectl-vmgroup"
	unixComplete   = "#!/bin/sh\nexec kubectl vmgroup __complete \"$@\"\n"
	windowComplete = "@echo off\r\nkubectl vmgroup __complete %*\r\n"
)

// pluginArchive returns the name and content of the archive with the plugin, the completion and the license.
func pluginArchive(version, platform string, program, license []byte, at time.Time) (name string, content []byte, err error) {
	name = pluginProgram + "_" + version + "_" + suffix(platform)
	if strings.HasPrefix(platform, "windows/") {
		content, err = zipped([]member{
			{name: "LICENSE", content: license, mode: 0o644},
			{name: pluginProgram + ".exe", content: program, mode: 0o755},
			{name: "kubectl_complete-vmgroup.cmd", content: []byte(windowComplete), mode: 0o755},
		}, at)
		return name + ".zip", content, err
	}
	content, err = tarball([]member{
		{name: "LICENSE", content: license, mode: 0o644},
		{name: pluginProgram, content: program, mode: 0o755},
		{name: "kubectl_complete-vmgroup", content: []byte(unixComplete), mode: 0o755},
	}, at)
	return name + ".tar.gz", content, err
}
