package operator

import "regexp"

// tagOfGit is a version in the form of git tags and Go modules.
var tagOfGit = regexp.MustCompile(`^v([0-9])`)

// Version returns a version without the v of a git tag: v1.2.3 and 1.2.3 are one release. Versions of Helm charts have no v, and the
// chart's default image tag is its version.
func Version(named string) string { return tagOfGit.ReplaceAllString(named, "$1") }
