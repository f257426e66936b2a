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

// Release says which build an image is of. All of it is part of the digest.
type Release struct {
	// Version is what `manager version` prints, and the tag of the image, as [Version] makes it.
	Version string
	// Revision is the commit, or empty.
	Revision string
	// Created is when the sources were committed; zero is 1970.
	Created time.Time
}

// NewRelease finds out about the sources in root. Created comes from SOURCE_DATE_EPOCH, in seconds, or else from the
// commit, never from the clock: two builds of one commit give one image. Without git there is no revision.
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

// revision is the commit, marked when the sources are not what was committed.
func revision(ctx context.Context, root string) string {
	revision := git(ctx, root, "rev-parse", "HEAD")
	if revision != "" && git(ctx, root, "status", "--porcelain") != "" {
		revision += "-dirty"
	}
	return revision
}

// git returns what a git command prints, or "" where there is no git, no repository, or one of another owner.
func git(ctx context.Context, root string, args ...string) string {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
