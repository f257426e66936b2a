package term

import "fmt"

// Count returns a number with its noun, whose plural ends in s.
func Count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}
