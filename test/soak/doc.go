// Package soak lets the operator work under random changes for a while, and shows that nothing grows. Its test runs with `make test-soak`; the
// parts that read and judge figures are tested with all others.
package soak
