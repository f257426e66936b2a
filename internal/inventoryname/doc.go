// Package inventoryname compares names and paths of vCenter's inventory as people see them.
//
// The API escapes three characters in a name: %2f is a slash, %5c a backslash and %25 a percent sign. The vSphere Client shows the characters. vCenter
// compares names without case. So a text that somebody writes may be a name as it is shown, a name as the API has it, or a path of either.
package inventoryname
