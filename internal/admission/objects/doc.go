// Package objects renders the objects in a member cluster that enforce policies at admission. Rendering is pure, and the
// same input gives the same output. So a bundle can be compared, applied again and displayed.
//
// Three layers, each of which works without the next:
//
//   - A ValidatingAdmissionPolicy with a VmGroupLimits as its parameter refuses requests that violate limits or template
//     lists, even while the hub is down. A second one allows only the operator to write VmGroupLimits.
//   - A MutatingAdmissionPolicy sets defaults, if the member serves that kind.
//   - Webhook configurations call the hub, which also checks quotas, inventory and the planner.
//
// The expressions are constant: to change limits, the operator writes the parameter, and the next request uses it.
package objects
