package operator

import "regexp"

// tagOfGit is a version as git's tags and Go's modules write it.
var tagOfGit = regexp.MustCompile(`^v([0-9])`)

// Version is the version that somebody named, without the v of a tag of git: v1.2.3 and 1.2.3 are one release. The chart's versions
// have none, as those of all charts, and its default is the image's tag of the same name.
func Version(named string) string { return tagOfGit.ReplaceAllString(named, "$1") }
