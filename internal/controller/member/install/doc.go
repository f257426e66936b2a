// Package install installs the objects that the operator needs in a member, and removes them: the claim, CRDs, and the objects that
// enforce policy at admission. Every function makes requests and returns; package member decides when to call it.
package install
