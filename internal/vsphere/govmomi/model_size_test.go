//go:build !slow && !fast

package govmomi

// modelHistories is how many histories run: about three seconds.
const modelHistories = 2_000
