// Package inventory is the in-memory index of the VMs and folders below the operator's root folder. It answers every observation, so that observing a group
// costs no call.
//
// Full listings, a stream, and look-ups of single objects feed the index. A read takes a Moment (Begin) before it asks vCenter, and its content counts from its
// arrival. The read cannot override content that arrived after it began, because vCenter can have evaluated either of the two last. Overlapping content that
// differs is looked up again (Doubted), and the index is compared with the stream (Differences). docs/adr/0071 orders all sources in one table.
//
// A VM that is missing from a listing is Suspect. It becomes Gone only after vCenter confirmed for exactly that object that it does not exist. It becomes
// Elsewhere after vCenter showed it outside of the root folder.
//
// The index reports itself incomplete before the first listing, after the connection was lost, and after everything vanished at once (SuddenlyEmpty).
package inventory
