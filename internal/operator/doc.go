// Package operator wires the operator from its parts, and runs it: the manager of cmd/manager is this package and flags. It has no rule of the product.
package operator
