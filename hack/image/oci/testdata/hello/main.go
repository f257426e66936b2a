// Command hello prints its user and the files that are its arguments.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Printf("user %d group %d\n", os.Getuid(), os.Getgid())
	for _, name := range os.Args[1:] {
		content, err := os.ReadFile(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("%s: %s", name, content)
	}
}
