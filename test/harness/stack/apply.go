//go:build unix

package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// first are kinds that other objects need.
var first = []string{"Namespace", "CustomResourceDefinition"}

// ApplyYAML applies the objects of a YAML stream, as `kubectl apply --server-side --force-conflicts` does.
func (c *Cluster) ApplyYAML(ctx context.Context, stream []byte) error {
	var objects []*unstructured.Unstructured
	for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(stream), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the objects for %s: %w", c.Name, err)
		}
		if object.GetKind() != "" {
			objects = append(objects, object)
		}
	}
	rank := func(o *unstructured.Unstructured) int {
		if i := slices.Index(first, o.GetKind()); i >= 0 {
			return i - len(first)
		}
		return 0
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	for _, object := range objects {
		// The status in a file is not real.
		unstructured.RemoveNestedField(object.Object, "status")
		err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("person"), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("apply %s %s to %s: %w", object.GetKind(), object.GetName(), c.Name, err)
		}
	}
	return nil
}
