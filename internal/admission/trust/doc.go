// Package trust decides which certificate authorities members must trust when they call the hub's webhooks, and which
// serving certificate ("leaf") the replicas serve. No handshake fails while either is renewed.
//
// A new authority is distributed at once, together with the old one. Once every member has acknowledged a bundle with it, a
// leaf that it signed is served. Once every live replica has served that leaf for a while, the old authority is removed. The
// order matters: with the new leaf first, every call fails until the last member has the new bundle.
//
//	authority A    ────────────────────────────────────────────────┐ pruned
//	authority B          ┌─ handed out ─────────────────────────────────────
//	members know         A     ┌─ all acknowledged {A, B} ────────────────
//	leaf served    by A ────────── settle ──┐ by B ── overlap ─────┴──────
//
// A member that is unreachable, or takes no new bundle, delays the switch until the last third of the present leaf's
// remaining validity. The operator reports it meanwhile. From then until it takes the bundle, the member lacks the webhook,
// but not its policies.
//
// [Decide] is that decision, a pure function over values. [Rotator] is the part with clients: it maintains the Secret
// "vmgroup-operator-admission", which only the leading replica writes and all replicas read.
//
// Two cases are not covered. A replica that the hub has considered lost for longer than Limits.Lost, but that members still
// reach, serves its old leaf. A stopped process can still have an apply in progress when another takes over: this apply can
// install an older bundle in a member until that member is reconciled again.
package trust
