// Package commands reads the shell commands of a Markdown page, so that a test can run the commands for users.
package commands
