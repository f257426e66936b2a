//go:build fast

package plan

// usualHistories are few where people wait.
const usualHistories = 500
