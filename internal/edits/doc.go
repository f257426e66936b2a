// Package edits decides who changed the spec of a VmGroup.
//
// The webhook knows the user, and not whether the change is stored: another webhook, a quota or a conflict can refuse it later. So an admitted
// change is a [Request] until the operator sees a group that only this request can have made: [Pending]. A request without that proof is
// dropped. Then an edit is missing from status, and no edit has the name of a user who did not make it.
//
// The package is pure. Package recorder does the reads and writes.
package edits
