// Package death proves that the process of another replica has ended, from the status of its Pod, so that its work is
// taken over after seconds instead of its whole patience.
//
// A status is a claim of the kubelet, and the kubelet can be wrong: when the container runtime has lost its state, it
// reports containers as terminated, or Pods as failed, whose processes go on running. So almost nothing in a status
// counts. What does is the message that the process itself left: at its start it writes an identity that is never
// used again into the file that the kubelet reads when, and only when, the runtime says that the container has exited. See
// [Proves] for the rule.
//
// A proof is one of two conditions. The session must have been silent as well, for longer than a renewal takes to come
// (protocol.Timings.Proven), and is fenced as in any takeover. A proof about a session that goes on living is refuted by
// its next renewal. Without a proof (no Pod, no rights, no kubelet, a Pod that has gone) nothing is lost but time.
package death
