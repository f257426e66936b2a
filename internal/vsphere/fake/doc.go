// Package fake is a vCenter in memory, for tests of what uses vsphere.Server.
//
// It is stateful: what was cloned is observed, and can be powered, marked and destroyed under the rules of the
// port. It is deterministic: it starts no goroutine, its clock is the test's, and tasks end when the test says so
// (Step, Finish, FinishOne), or at once with Options.AutoFinish. A test can
//
//   - have calls and tasks fail, and replies get lost (FailSubmit, FailTask, LoseReply);
//   - take the vCenter, parts of its inventory or its catalog away (Disconnect, SetIncomplete, Hide, ...);
//   - act as a person with vCenter's own client (ByHand);
//   - read what was asked of the vCenter (Journal).
//
// It is stricter than vCenter in one respect: powering on a VM with a tombstone is refused. Package contract has
// the test that it shares with the real implementation.
package fake
