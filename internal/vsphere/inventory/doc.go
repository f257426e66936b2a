// Package inventory is the in-memory index of the VMs and folders below the operator's root folder. It answers
// every observation, so that looking at a group costs no call.
//
// It is fed with full listings, with a stream, and with look-ups of single objects. A read takes a Moment (Begin) before it asks vCenter, and what
// it shows counts from its arrival: it cannot overrule what arrived after it began, since vCenter may have evaluated either of the two last. What overlaps and differs is
// looked up again (Doubted), and the index is compared with what the stream has shown (Differences). docs/adr/0071 orders all sources in one table.
//
// A VM that is missing from a listing is not gone: it is Suspect until vCenter, asked about that very object,
// says that it does not exist (Gone) or shows it outside of the root folder (Elsewhere).
//
// The index says itself when it must not be trusted: before the first listing, after the connection was lost,
// and when everything vanished at once (SuddenlyEmpty).
package inventory
