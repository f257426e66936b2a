// Package install puts into a member what the operator needs there, and takes it out again: the claim, CRDs, and the objects with
// which policy holds at the member's door. Every function makes requests and returns; what is done when is decided by package member.
package install
