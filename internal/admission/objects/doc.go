// Package objects renders what the operator keeps in a member cluster so that policy holds at its door. Rendering is
// pure and its output is the same for the same input, so that a bundle can be compared, applied again and shown to a person.
//
// Three layers, each of which works without the next:
//
//   - A ValidatingAdmissionPolicy with a VmGroupLimits as its parameter refuses what breaks limits or template lists, also
//     while the hub is down. A second one lets nobody but the operator write VmGroupLimits.
//   - A MutatingAdmissionPolicy fills in defaults, where the member serves that kind.
//   - Webhook configurations call the hub, which also knows quotas, inventory and the planner.
//
// The expressions are constant: limits change by writing the parameter, which the next request sees.
package objects
