package oci

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
)

// Bundle is an image with its name, or an index of images for several platforms. It is immutable.
type Bundle struct {
	tag    name.Tag
	images []v1.Image
	// root is the manifest or index behind the name.
	root interface {
		mutate.Appendable
		Digest() (v1.Hash, error)
		RawManifest() ([]byte, error)
	}
	digest v1.Hash
}

// New builds the images, one for each platform, under one name. The name is, for example, vmgroup-operator:v1.2.3 or
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

// CheckName returns the error of [New] for an invalid name.
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

// Digest is the part of a Pod's image name after the @. It is the digest of the manifest, or of the index if there are several platforms.
func (b *Bundle) Digest() string { return b.digest.String() }

// Descriptor describes the manifest or index to artifacts whose subject it is.
func (b *Bundle) Descriptor() (v1.Descriptor, error) { return Describe(b.root) }

// Describe returns the descriptor of a manifest for [Artifact.Subject].
func Describe(manifest partial.Describable) (v1.Descriptor, error) {
	described, err := partial.Descriptor(manifest)
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("describe a manifest: %w", err)
	}
	return v1.Descriptor{MediaType: described.MediaType, Digest: described.Digest, Size: described.Size}, nil
}

// Name is the full name for containerd and kubelet: docker.io/library/vmgroup-operator:v1.2.3.
func (b *Bundle) Name() string {
	return strings.Replace(b.tag.Name(), name.DefaultRegistry, "docker.io", 1)
}

// Images returns the images in the order of the arguments of [New].
func (b *Bundle) Images() []v1.Image { return b.images }
