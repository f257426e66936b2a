//go:build fast && !slow

package govmomi

// modelHistories is how many histories run: less than a second.
const modelHistories = 400
