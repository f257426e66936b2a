// Package trust decides which certificate authorities the members are told to trust when they call the hub's webhooks,
// and which serving certificate ("leaf") the replicas serve, so that no handshake fails while either is renewed.
//
// A new authority is handed out at once, beside the old one. Only when every member has acknowledged a bundle that holds it
// is a leaf served that it signed; only when every live replica has served that leaf for a while is the old authority taken
// out. The order is the whole point: with the new leaf first, every call fails until the last member has got the new bundle.
//
//	authority A    ────────────────────────────────────────────────┐ pruned
//	authority B          ┌─ handed out ─────────────────────────────────────
//	members know         A     ┌─ all acknowledged {A, B} ────────────────
//	leaf served    by A ────────── settle ──┐ by B ── overlap ─────┴──────
//
// A member that cannot be reached, or that takes no new bundle, delays the switch until the last third of what the leaf in
// use has left, is named meanwhile, and loses the webhook (not its policies) from then until it takes the bundle.
//
// [Decide] is that decision, a pure function over values. [Rotator] is the part with clients: it keeps the Secret
// "vmgroup-operator-admission", which only the leading replica writes and all of them read.
//
// What is not covered: a replica that the hub has given up for longer than Limits.Lost, but that members still reach,
// serves what it knew; and a call that a stopped process had under way when another took over may put an older bundle into
// a member until that member is looked at again.
package trust
