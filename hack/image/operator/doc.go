// Package operator builds the operator's image for `make image`, the Dockerfile and the whole-system tests.
package operator
