// Package admission knows what the operator leaves in a member and how it goes away again when the hub is gone. What makes
// policy hold there is rendered by package objects; certificates are in packages trust and serving.
package admission
