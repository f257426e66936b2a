// Package admission lists what the operator installs in a member, and how to remove it if the hub is lost. Package objects
// renders the objects that enforce policies there; packages trust and serving handle certificates.
package admission
