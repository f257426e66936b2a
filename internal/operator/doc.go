// Package operator wires the operator from its parts, and runs it: the manager of cmd/manager is this package and flags. It contains no product logic.
package operator
