//go:build !fast

package plan

// usualHistories are those that `make test` tries.
const usualHistories = 5000
