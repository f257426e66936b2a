// Package session keeps one login to one vCenter.
//
// A Session is a soap.RoundTripper. Every call of the operator goes through it, which makes it the one place
// that can guarantee five things:
//
//   - A request that may change something is sent only while the caller's fence holds (vsphere.WithFence).
//     Which methods only read is an allow-list: a method that nobody thought of is treated as a change.
//   - A lost login is renewed once, however many calls notice it, and the call is repeated. Two logins never
//     run at the same time, since vCenter answers a login on a logged-in connection with InvalidLogin, which
//     looks like a wrong password.
//   - A read that failed for a reason that passes is repeated, for a second and a half at most. What changes something is sent
//     once: its caller finds out what became of it.
//   - A login is sent only when package logins lets it, so that the operator does not lock the account. Another
//     password needs another Session.
//   - An answer has bounds of bytes, memory, depth and time, small ones before a login has succeeded: see ADR 89.
//
// Attend notices a server that falls silent or shows another certificate, and Knock one that is back.
//
// Objects that belong to a login (views, collectors, filters) die with it. Generation tells when that happened.
package session
