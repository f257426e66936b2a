package oci

import (
	"bytes"
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Blob is content of an [Artifact].
type Blob struct {
	MediaType string
	Content   []byte
	// Title is the file name that download tools use, or empty.
	Title string
}

// Artifact is a manifest whose content is no file system, such as a chart, an SBOM or a statement.
type Artifact struct {
	// Type is the artifactType of the manifest. It is empty if the media type of Config identifies the artifact.
	Type string
	// Config by default is an empty object with media type Type. Registries without support for artifactType show that media type instead.
	Config *Blob
	Blobs  []Blob
	// Subject is the manifest that the artifact describes. Registries list the artifact as a referrer of it.
	Subject *v1.Descriptor
	// Annotations of the manifest.
	Annotations map[string]string
}

// artifactManifest is an image manifest of OCI 1.1. The library's type lacks artifactType.
type artifactManifest struct {
	SchemaVersion int64             `json:"schemaVersion"`
	MediaType     types.MediaType   `json:"mediaType"`
	ArtifactType  string            `json:"artifactType,omitempty"`
	Config        v1.Descriptor     `json:"config"`
	Layers        []v1.Descriptor   `json:"layers"`
	Subject       *v1.Descriptor    `json:"subject,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// Build makes the artifact in memory. The same input gives the same bytes.
func (a Artifact) Build() (v1.Image, error) {
	config := a.Config
	if config == nil {
		config = &Blob{MediaType: a.Type, Content: []byte("{}")}
	}
	core := &artifactCore{config: config.Content, layers: map[v1.Hash]v1.Layer{}}
	described, err := config.descriptor()
	if err != nil {
		return nil, err
	}
	manifest := artifactManifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: a.Type, Config: described, Layers: []v1.Descriptor{},
		Subject: a.Subject, Annotations: a.Annotations,
	}
	for _, blob := range a.Blobs {
		described, err := blob.descriptor()
		if err != nil {
			return nil, err
		}
		manifest.Layers = append(manifest.Layers, described)
		core.layers[described.Digest] = static.NewLayer(blob.Content, types.MediaType(blob.MediaType))
	}
	if core.manifest, err = json.Marshal(manifest); err != nil {
		return nil, fmt.Errorf("write the manifest of %s: %w", a.Type, err)
	}
	return partial.CompressedToImage(core)
}

func (b Blob) descriptor() (v1.Descriptor, error) {
	digest, size, err := v1.SHA256(bytes.NewReader(b.Content))
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("digest of %s: %w", b.MediaType, err)
	}
	described := v1.Descriptor{MediaType: types.MediaType(b.MediaType), Digest: digest, Size: size}
	if b.Title != "" {
		described.Annotations = map[string]string{"org.opencontainers.image.title": b.Title}
	}
	return described, nil
}

// artifactCore is what the library needs to handle an artifact like an image.
type artifactCore struct {
	manifest, config []byte
	layers           map[v1.Hash]v1.Layer
}

func (c *artifactCore) RawConfigFile() ([]byte, error)      { return c.config, nil }
func (c *artifactCore) RawManifest() ([]byte, error)        { return c.manifest, nil }
func (c *artifactCore) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
func (c *artifactCore) LayerByDigest(digest v1.Hash) (partial.CompressedLayer, error) {
	layer, there := c.layers[digest]
	if !there {
		return nil, fmt.Errorf("the artifact has no blob %s", digest)
	}
	return layer, nil
}
