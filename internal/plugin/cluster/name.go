package cluster

import (
	"context"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Get reads an object, whose name and namespace a person has typed.
func (c *Cluster) Get(ctx context.Context, key types.NamespacedName, object client.Object, options ...client.GetOption) error {
	if key.Name == "" {
		return Usage("A name is empty.")
	}
	for _, name := range []string{key.Name, key.Namespace} {
		if err := checkName(name); err != nil {
			return err
		}
	}
	return c.Client.Get(ctx, key, object, options...)
}

// List reads objects, of a namespace that a person has typed.
func (c *Cluster) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := checkName((&client.ListOptions{}).ApplyOptions(options).Namespace); err != nil {
		return err
	}
	return c.Client.List(ctx, list, options...)
}

// checkName returns the failure for a name that no path of the API can have.
func checkName(name string) error {
	if problems := content.IsPathSegmentName(name); len(problems) > 0 {
		return Usage("%s is no name of an object: it %s.", untrusted.Quoted(name), problems[0])
	}
	return nil
}

// IsUID reports whether a text has the form of a UID of Kubernetes, or of an instance UUID of vCenter.
func IsUID(text string) bool { return len(text) == 36 && uuid.Validate(text) == nil }
