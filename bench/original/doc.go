// Package original is a port of this product's predecessor, for benchmarks that run both on the same
// servers. It is no product code.
//
// It is ported from the behavior of the codeconnect VM operator of 2020, as its README and controller show it:
//
//   - It has one worker and no filter on events, so that the write of its own status causes one more pass.
//   - In every pass, it calls govmomi's finder for the group's folder (twice) and its VMs. If their number is right, it makes one
//     call for the power state of each VM. It keeps nothing between passes.
//   - It creates, destroys and powers on three VMs at a time, and waits for each with task.Wait. A pass ends with
//     the last of them.
//   - A clone looks up template and folder again, and vCenter powers on the VM.
//   - It writes status at the end of every pass, even without a change.
//   - It finds changes in vCenter at the informer's resync, every five minutes.
//
// The port differs in four points: the root folder is an option, it uses current controller-runtime and govmomi, the
// limit uses errgroup, and a failed power-off does not panic. None of them makes it slower. The port keeps other faults of the
// original (names, ownership) if they affect calls and time, and omits the rest.
package original
