package oci

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// Bundle is an image with its name: one image, or an index of images for several platforms. It is immutable.
type Bundle struct {
	tag    name.Tag
	images []v1.Image
	// root is what the name stands for.
	root interface {
		mutate.Appendable
		Digest() (v1.Hash, error)
		RawManifest() ([]byte, error)
	}
	digest v1.Hash
}

// New builds the images, each for a platform of its own, under one name such as vmgroup-operator:v1.2.3 or
// registry.example.com/team/vmgroup-operator:v1.2.3.
func New(reference string, images ...Image) (*Bundle, error) {
	tag, err := parseName(reference)
	if err != nil {
		return nil, err
	}
	if len(images) == 0 {
		return nil, errors.New("no image to bundle")
	}
	bundle := &Bundle{tag: tag}
	additions := make([]mutate.IndexAddendum, 0, len(images))
	seen := map[string]bool{}
	for _, image := range images {
		built, err := image.Build()
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", reference, err)
		}
		platform, err := parsePlatform(image.Platform)
		if err != nil {
			return nil, err
		}
		if seen[platform.String()] {
			return nil, fmt.Errorf("image %s: platform %s is there twice", reference, platform)
		}
		seen[platform.String()] = true
		bundle.images = append(bundle.images, built)
		additions = append(additions, mutate.IndexAddendum{Add: built, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	bundle.root = bundle.images[0]
	if len(bundle.images) > 1 {
		bundle.root = mutate.AppendManifests(empty.Index, additions...)
	}
	if bundle.digest, err = bundle.root.Digest(); err != nil {
		return nil, fmt.Errorf("digest of image %s: %w", reference, err)
	}
	return bundle, nil
}

// CheckName says what is wrong with a name that [New] would refuse.
func CheckName(reference string) error {
	_, err := parseName(reference)
	return err
}

func parseName(reference string) (name.Tag, error) {
	tag, err := name.NewTag(reference, name.WithDefaultTag(""))
	if err != nil {
		return name.Tag{}, fmt.Errorf("the image's name %q: %w", reference, err)
	}
	if tag.TagStr() == "" {
		return name.Tag{}, fmt.Errorf("the image's name %q has no tag", reference)
	}
	return tag, nil
}

// Digest is what a Pod names after the @: that of the manifest, or of the index when there are several platforms.
func (b *Bundle) Digest() string { return b.digest.String() }

// Name is the full name, which containerd and the kubelet use: docker.io/library/vmgroup-operator:v1.2.3.
func (b *Bundle) Name() string {
	return strings.Replace(b.tag.Name(), name.DefaultRegistry, "docker.io", 1)
}

// Images are the images in the order of the platforms that were given to [New].
func (b *Bundle) Images() []v1.Image { return b.images }
