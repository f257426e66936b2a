package operator

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Release identifies the build of an image. All its fields are part of the digest.
type Release struct {
	// Version is the output of `manager version` and the tag of the image, in the form of [Version].
	Version string
	// Revision is the commit, or empty.
	Revision string
	// Created is the commit time of the sources. Zero means 1970.
	Created time.Time
}

// NewRelease determines the release of the sources in root. Created comes from SOURCE_DATE_EPOCH, in seconds, or else from the commit,
// never from the clock, so that two builds of one commit give one image. Without git, Revision is empty.
func NewRelease(ctx context.Context, root, version string) (Release, error) {
	release := Release{Version: Version(version), Revision: revision(ctx, root)}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		seconds = git(ctx, root, "log", "-1", "--format=%ct")
	}
	if seconds == "" {
		return release, nil
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return Release{}, fmt.Errorf("SOURCE_DATE_EPOCH is a number of seconds since 1970: %w", err)
	}
	release.Created = time.Unix(unix, 0).UTC()
	return release, nil
}

// revision returns the commit. If the sources differ from the commit, it adds a mark.
func revision(ctx context.Context, root string) string {
	revision := git(ctx, root, "rev-parse", "HEAD")
	if revision != "" && git(ctx, root, "status", "--porcelain") != "" {
		revision += "-dirty"
	}
	return revision
}

// git returns the output of a git command. It returns "" if git or the repository is missing, or another user owns the repository.
func git(ctx context.Context, root string, args ...string) string {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
