package oci

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Copy copies the manifests of a layout that have a tag to registries, and their referrers after them. targets has the name in a registry for
// each tag of the layout. It returns the names with the digests that it copied, in the order of the layout. A repeated call after an error is safe.
func Copy(ctx context.Context, dir string, targets map[string]string) (copied []string, err error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("read the image layout %s: %w", dir, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("read the image layout %s: %w", dir, err)
	}
	to := &copying{
		index: index, homes: map[v1.Hash]name.Repository{},
		options: []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)},
	}
	for _, entry := range manifest.Manifests {
		tag := entry.Annotations[annotationTag]
		if tag == "" {
			err = to.referrer(entry)
		} else {
			var one string
			one, err = to.tagged(entry, targets[tag])
			if err == nil {
				copied = append(copied, one)
			}
		}
		if err != nil {
			return copied, fmt.Errorf("copy %s of %s: %w", entry.Digest, dir, err)
		}
	}
	return copied, nil
}

// copying is one run of [Copy].
type copying struct {
	index   v1.ImageIndex
	options []remote.Option
	// homes are the repositories of the copied manifests.
	homes map[v1.Hash]name.Repository
}

func (c *copying) tagged(entry v1.Descriptor, target string) (string, error) {
	if target == "" {
		return "", errors.New("no name in a registry is given for it")
	}
	tag, err := name.NewTag(target)
	if err != nil {
		return "", fmt.Errorf("the name %q in a registry: %w", target, err)
	}
	if err := c.push(tag, entry); err != nil {
		return "", err
	}
	c.homes[entry.Digest] = tag.Context()
	if entry.MediaType.IsIndex() {
		below, err := c.index.ImageIndex(entry.Digest)
		if err != nil {
			return "", err
		}
		manifest, err := below.IndexManifest()
		if err != nil {
			return "", err
		}
		for _, one := range manifest.Manifests {
			c.homes[one.Digest] = tag.Context()
		}
	}
	return tag.Name() + "@" + entry.Digest.String(), nil
}

// referrer copies a manifest to the repository of its subject.
func (c *copying) referrer(entry v1.Descriptor) error {
	image, err := c.index.Image(entry.Digest)
	if err != nil {
		return err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	if manifest.Subject == nil {
		return errors.New("it has neither a tag nor a subject")
	}
	home, there := c.homes[manifest.Subject.Digest]
	if !there {
		return fmt.Errorf("its subject %s does not precede it", manifest.Subject.Digest)
	}
	return c.push(home.Digest(entry.Digest.String()), entry)
}

func (c *copying) push(to name.Reference, entry v1.Descriptor) error {
	if entry.MediaType.IsIndex() {
		index, err := c.index.ImageIndex(entry.Digest)
		if err != nil {
			return err
		}
		return remote.Push(to, index, c.options...)
	}
	image, err := c.index.Image(entry.Digest)
	if err != nil {
		return err
	}
	return remote.Push(to, image, c.options...)
}
