//go:build !slow && !fast

package govmomi

// modelHistories is the number of histories: about three seconds.
const modelHistories = 2_000
