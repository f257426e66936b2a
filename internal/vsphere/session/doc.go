// Package session keeps one login to one vCenter.
//
// A Session is a soap.RoundTripper. Every call of the operator passes through it, so it can guarantee five things:
//
//   - A request that can change something is sent only while the caller's fence permits it (vsphere.WithFence). An allow-list
//     names the read-only methods. All other methods are treated as changes.
//   - A lost login is renewed once, however many calls notice it, and the calls are repeated. Two logins never run at the same
//     time: vCenter answers a login on a logged-in connection with InvalidLogin, which looks like a wrong password.
//   - A read that failed for a temporary reason is repeated, for at most a second and a half. A change is sent once, and its
//     caller finds out the result.
//   - A login is sent only when package logins permits it, so that the operator does not lock the account. Another password
//     needs another Session.
//   - An answer has limits of bytes, memory, depth and time, with small ones before a successful login: see ADR 89.
//
// Attend detects a server that stops responding or presents another certificate. Knock detects its recovery.
//
// Objects that belong to a login (views, collectors, filters) end with it. Generation reports when that happened.
package session
