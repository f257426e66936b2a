// Package operator builds the operator's image: what `make image`, the Dockerfile and the tests of the whole share.
package operator
