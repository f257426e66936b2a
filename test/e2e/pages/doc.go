// Package pages is the table of the tutorial and the how-to guides: how the code blocks of each page run in test/e2e, and which blocks do not. Blocks with language
//
//   - sh run, and so do the lines of console blocks that begin with $
//   - yaml are applied if they have an apiVersion, and are values with which the chart is rendered otherwise
//   - text are written to the file that the page names
//   - ini are read as a configuration file of cloudbase-init
//
// A block of another language must be an exception.
package pages
