package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/hack/release/versions"
)

// commit is the source of a release.
type commit struct {
	// id is the full hash.
	id string
	// at is the time of the commit. A release contains no other time.
	at time.Time
}

// versionTag matches the tag of a release.
var versionTag = regexp.MustCompile(`^v\d+\.\d+\.\d+`)

// readyCommit returns the commit of the tree, or the reasons why it cannot be released with this version.
func readyCommit(ctx context.Context, root, version string) (commit, error) {
	if !versions.Semantic.MatchString(version) {
		return commit{}, fmt.Errorf("version %q is not of the form 0.2.0 or 0.2.0-rc.1: set it with VERSION=", version)
	}
	source, err := cleanCommit(ctx, root)
	if err != nil {
		return commit{}, err
	}
	tags, err := git(ctx, root, "tag", "--points-at", "HEAD")
	if err != nil {
		return commit{}, err
	}
	if err := checkTags(strings.Fields(tags), version); err != nil {
		return commit{}, err
	}
	if at, err := git(ctx, root, "rev-parse", "--quiet", "--verify", "refs/tags/v"+version+"^{commit}"); err == nil && at != source.id {
		return commit{}, fmt.Errorf("tag v%s is at commit %s, and this is %s: check the tag out with `git checkout v%s`, or release a new version", version, at, source.id, version)
	}
	of, err := versions.Chart(root)
	if err != nil {
		return commit{}, err
	}
	if of != version {
		return commit{}, fmt.Errorf("the chart has version %s: to release %s, set version, appVersion and the image in charts/vmgroup-operator/Chart.yaml, and commit", of, version)
	}
	if err := versions.Check(ctx, root, nil); err != nil {
		return commit{}, fmt.Errorf("the versions of the tree differ; correct them and commit:\n%w", err)
	}
	return source, nil
}

// cleanCommit returns the commit of a tree without changes. A release of other sources could not be built again.
func cleanCommit(ctx context.Context, root string) (source commit, err error) {
	if source.id, err = git(ctx, root, "rev-parse", "HEAD"); err != nil {
		return source, fmt.Errorf("a release needs a clone with git: %w", err)
	}
	changes, err := git(ctx, root, "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return source, err
	}
	// The chart and the manifests contain all files of their directories.
	ignored, err := git(ctx, root, "status", "--porcelain", "--ignored", "--untracked-files=all", "--", "charts", "config")
	if err != nil {
		return source, err
	}
	changes = cmp.Or(changes, ignored)
	if changes != "" {
		return source, fmt.Errorf("the tree has changes that are not committed; commit or remove them:\n%s", changes)
	}
	seconds, err := git(ctx, root, "log", "-1", "--format=%ct")
	if err != nil {
		return source, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return source, fmt.Errorf("time of commit %s: %w", source.id, err)
	}
	source.at = time.Unix(unix, 0).UTC()
	return source, nil
}

// checkTags refuses a commit that has the tag of another version only.
func checkTags(tags []string, version string) error {
	tags = slices.DeleteFunc(tags, func(tag string) bool { return !versionTag.MatchString(tag) })
	if len(tags) > 0 && !slices.Contains(tags, "v"+version) {
		return fmt.Errorf("the commit has tag %s, not v%s: release that version, or correct the tag", strings.Join(tags, ", "), version)
	}
	return nil
}

// git returns the output of a git command without the white space around it.
func git(ctx context.Context, root string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		text := ""
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			text = ": " + strings.TrimSpace(string(exit.Stderr))
		}
		return "", fmt.Errorf("git %s: %w%s", strings.Join(args, " "), err, text)
	}
	return strings.TrimSpace(string(out)), nil
}
