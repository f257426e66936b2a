package change

import (
	"context"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

// Edit changes the spec of an object. It writes only the fields that differ between Before and After.
type Edit struct {
	// Before is the object as it was read, and After as it must become.
	Before, After client.Object
	// Resource is the singular name of the object's resource, as kubectl takes it.
	Resource string
}

var _ Change = Edit{}

// Target implements Change.
func (e Edit) Target() (client.Object, string) { return e.Before, e.Resource }

// Done implements Change.
func (e Edit) Done() bool {
	patch, err := e.patch()
	return err == nil && string(patch) == "{}"
}

// Apply implements Change.
func (e Edit) Apply(ctx context.Context, in *cluster.Cluster, dry bool) error {
	data, err := e.patch()
	if err != nil {
		return err
	}
	patch := map[string]any{}
	if err := json.Unmarshal(data, &patch); err != nil {
		return err
	}
	return apply(ctx, in, e.Before, patch, dry)
}

// Command implements Change.
func (e Edit) Command(connection []string) string {
	patch, err := e.patch()
	if err != nil {
		return fmt.Sprintf("# %v", err)
	}
	return command(connection, "patch", e.Resource, e.Before, "--type=merge", "-p", string(patch))
}

func (e Edit) patch() ([]byte, error) { return client.MergeFrom(e.Before).Data(e.After) }
