package oci

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push copies the bundle to a registry. The tag is that of the reference or, if it has none, the bundle's tag. Credentials come from the
// configuration of Docker or Podman. It returns the name with the digest. A repeated call after an error is safe: it does not send existing
// blobs again.
func (b *Bundle) Push(ctx context.Context, reference string) (string, error) {
	tag, err := name.NewTag(reference, name.WithDefaultTag(b.tag.TagStr()))
	if err != nil {
		return "", fmt.Errorf("where to push the image to, %q: %w", reference, err)
	}
	err = remote.Push(tag, b.root, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return "", fmt.Errorf("push the image to %s: %w", tag.Name(), err)
	}
	return tag.Context().Name() + "@" + b.Digest(), nil
}
