// Package drawings renders the Mermaid blocks of the repository's pages in headless Chromium, as readers see them. It is a module of its own:
// nothing of the browser's client is in the operator's go.mod.
package drawings
