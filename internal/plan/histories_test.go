//go:build !fast

package plan

// usualHistories is the number that `make test` runs.
const usualHistories = 5000
