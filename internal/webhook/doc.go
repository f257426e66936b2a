// Package webhook answers the admission requests of member clusters, and on another port those of the hub about the operator's own
// kinds. It runs on every replica, whether or not that replica leads.
//
// A request passes these stages, each of which can end it:
//
//	path       /clusters/{member}/{segment}/...: without a right segment a 404, the same for every path, before anything of the body is read
//	room       at most so many requests and so many bytes at a time, and not all of them for one member: else 503
//	body       complete within seconds (408), not too large (413), JSON (415), not nested too deeply (400)
//	review     an AdmissionReview of admission.k8s.io/v1: else 400
//	verdict    allowed, patched or refused, with warnings; or 500 when nobody can tell
//
// A refusal is an answer. Everything that is not about the object (no policies read yet, a bug) is an HTTP status other
// than 200, so that the member's failurePolicy decides, and not this replica.
//
// The rules are those of package policy, which the reconciler uses as well; what a handler has to know beyond the request
// it asks of a [Knowledge]. Nothing here talks to a vCenter or a member.
package webhook
