// Package inventoryname compares names and paths of vCenter's inventory as the vSphere Client shows them.
//
// The API escapes three characters in a name: %2f is a slash, %5c a backslash and %25 a percent sign. The vSphere Client shows the characters. vCenter
// ignores case in names. So the text of a user can be a name of the vSphere Client, a name of the API, or a path of either.
package inventoryname
