// Package original is a port of the operator that this product succeeds, for benchmarks that run both on the same
// servers. It is no product code.
//
// Ported from the behavior of the codeconnect VM operator of 2020 as its README and its controller show it:
//
//   - one worker; no filter on events, so that the write of its own status makes one more pass;
//   - in every pass, calls of govmomi's finder for the group's folder (twice) and its VMs, and one call for the
//     power state of each VM when their number is right; nothing is kept between passes;
//   - VMs are created, destroyed and powered on three at a time, each waited for with task.Wait; a pass ends when
//     all of them have;
//   - a clone looks up template and folder anew and is asked to be powered on by vCenter;
//   - status is written at the end of every pass, whether or not it changed;
//   - changes in vCenter are found by the informer's resync, every five minutes.
//
// What is not the original's: the root folder is an option, today's controller-runtime and govmomi carry it, the
// limit is errgroup's, and a failed power-off no longer panics. Nothing makes it slower. What it got wrong in
// other respects (names, ownership) is kept where it decides about calls and time, and left out elsewhere.
package original
