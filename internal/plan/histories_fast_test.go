//go:build fast

package plan

// usualHistories is small for interactive runs.
const usualHistories = 500
