package main

import (
	"runtime"
	"strings"
	"testing"
)

func TestPlatformsAreSplit(t *testing.T) {
	for flag, want := range map[string]string{
		"":                         "linux/" + runtime.GOARCH,
		"linux/arm64":              "linux/arm64",
		"linux/amd64, linux/arm64": "linux/amd64 linux/arm64",
	} {
		if got := strings.Join(platformList(flag), " "); got != want {
			t.Errorf("%q gives %s, want %s", flag, got, want)
		}
	}
}
