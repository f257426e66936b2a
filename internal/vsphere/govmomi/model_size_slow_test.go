//go:build slow

package govmomi

// modelHistories is how many histories run: about two minutes.
const modelHistories = 50_000
