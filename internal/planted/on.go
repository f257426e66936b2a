//go:build planted

package planted

import "os"

var chosen = Bug(os.Getenv(Variable))

// Is reports whether a bug is to be there: if the environment names it.
func Is(b Bug) bool { return b == chosen }
