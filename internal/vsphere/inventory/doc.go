// Package inventory is the in-memory index of the VMs and folders below the operator's root folder. It answers
// every observation, so that looking at a group costs no call.
//
// It is fed with full listings and with partial news. Each feed takes a Moment (Begin) before it asks vCenter;
// what it then applies never overwrites what was read later. That orders a slow listing against a fast
// look-up of one VM without any assumption about clocks.
//
// A VM that is missing from a listing is not gone: it is Suspect until vCenter, asked about that very object,
// says that it does not exist (Gone) or shows it outside of the root folder (Elsewhere).
//
// The index says itself when it must not be trusted: before the first listing, after the connection was lost,
// and when everything vanished at once (SuddenlyEmpty).
package inventory
