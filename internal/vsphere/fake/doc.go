// Package fake is a vCenter in memory, for tests of code that uses vsphere.Server.
//
// It is stateful: a cloned VM is observed, and can be powered, marked and destroyed under the rules of the port. It is
// deterministic: it starts no goroutine and uses the test's clock. Tasks end on the test's call (Step, Finish,
// FinishOne), or at once with Options.AutoFinish. A test can
//
//   - make calls and tasks fail, and replies get lost (FailSubmit, FailTask, LoseReply);
//   - make the vCenter, parts of its inventory or its catalog unavailable (Disconnect, SetIncomplete, Hide, ...);
//   - act as a user of vCenter's own client (ByHand);
//   - read the calls to the vCenter (Journal).
//
// It is stricter than vCenter in one respect: it refuses to power on a VM with a tombstone. Package contract contains
// the test that the fake shares with the real implementation.
package fake
