// Package fairqueue is a work queue for a controller whose items belong to tenants and use resources.
//
//   - An item is handed out only while its tenant and its resource have a free place. It holds both places until Done.
//   - The tenant with the fewest places is served first, and equals take turns.
//   - Within a tenant, higher priorities come first, and equal priorities in the order of Add.
//
// A tenant can take a place while it holds fewer places than are free. One tenant alone gets half of all places, two get a third each.
// As many places as each of them holds stay free for the next tenant. A slow tenant therefore never holds every worker.
//
// De-duplication, delay, rate limit and metrics are those of client-go. This package replaces the order of the items, and waits for
// places where client-go's queue waits for items.
package fairqueue
