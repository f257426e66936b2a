// Package webhook answers the admission requests of member clusters. On another port, it answers those of the hub about the operator's own
// kinds. It runs on every replica, leader or not.
//
// A request passes these stages, each of which can end it:
//
//	path       /clusters/{member}/{segment}/...: without a valid segment a 404, the same for every path, before any of the body is read
//	room       limits on requests and bytes at a time, in total and for each member: else 503
//	body       complete within seconds (408), not too large (413), JSON (415), not nested too deeply (400)
//	review     an AdmissionReview of admission.k8s.io/v1: else 400
//	verdict    allowed, patched or refused, with warnings; or 500 if the operator cannot review the object
//
// A refusal is an answer. Errors that do not concern the object (policies not read yet, a bug) result in an HTTP status other than 200, so
// that the member's failurePolicy decides, not this replica.
//
// The rules are in package policy, which the reconciler also uses. Handlers get all other data from a [Knowledge]. This package does not
// connect to vCenters or members.
package webhook
