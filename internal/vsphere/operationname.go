package vsphere

import "context"

type operationKey struct{}

// WithOperation names what the calls under ctx are part of. The name reaches vCenter's own logs as opID, where a person
// can follow a group's pass from there; it holds nothing secret.
func WithOperation(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, operationKey{}, name)
}

// OperationOf returns the name given by WithOperation, or "".
func OperationOf(ctx context.Context) string {
	name, _ := ctx.Value(operationKey{}).(string)
	return name
}
