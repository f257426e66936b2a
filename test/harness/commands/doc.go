// Package commands reads the shell commands of a Markdown page, so that a test can run what the page tells people to run.
package commands
