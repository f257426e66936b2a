//go:build slow

package govmomi

// modelHistories is the number of histories: about two minutes.
const modelHistories = 50_000
