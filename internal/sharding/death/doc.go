// Package death proves from the status of a Pod that the process of another replica has ended. Its work is then taken over
// after seconds, before the full takeover timeout.
//
// The status comes from the kubelet, which can be wrong: if the container runtime has lost its state, it reports
// containers as terminated, or Pods as failed, whose processes still run. So most of the status is ignored. Only the
// message that the process itself left counts. At its start, the process writes a unique identity into the termination
// message file. The kubelet reads this file only if the runtime reports that the container has exited. See [Proves] for
// the rule.
//
// A proof is one of two conditions. The session must also have been silent for longer than a renewal takes
// (protocol.Timings.Proven), and is fenced as in any takeover. If the session still lives, its next renewal refutes the
// proof. Without a proof (no Pod, no permission, no kubelet, a deleted Pod), the takeover only takes longer.
package death
