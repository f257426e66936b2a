package change

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

// Annotation sets an annotation of an object, or removes it.
type Annotation struct {
	// Object as it was read.
	Object client.Object
	// Resource is the singular name of the object's resource, as kubectl takes it.
	Resource string
	// Key of the annotation.
	Key string
	// Value of the annotation. Empty removes it.
	Value string
}

var _ Change = Annotation{}

// Target implements Change.
func (c Annotation) Target() (client.Object, string) { return c.Object, c.Resource }

// Done implements Change.
func (c Annotation) Done() bool {
	value, set := c.Object.GetAnnotations()[c.Key]
	return value == c.Value && set == (c.Value != "")
}

// Apply implements Change.
func (c Annotation) Apply(ctx context.Context, in *cluster.Cluster, dry bool) error {
	var value *string
	if c.Value != "" {
		value = &c.Value
	}
	return apply(ctx, in, c.Object, map[string]any{"metadata": map[string]any{"annotations": map[string]*string{c.Key: value}}}, dry)
}

// Command implements Change.
func (c Annotation) Command(connection []string) string {
	if c.Value == "" {
		return command(connection, "annotate", c.Resource, c.Object, c.Key+"-")
	}
	return command(connection, "annotate", c.Resource, c.Object, "--overwrite", c.Key+"="+c.Value)
}
