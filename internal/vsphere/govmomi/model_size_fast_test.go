//go:build fast && !slow

package govmomi

// modelHistories is the number of histories: less than a second.
const modelHistories = 400
