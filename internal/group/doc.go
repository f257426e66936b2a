// Package group decides what is said of one VmGroup: its status, its events, and whether they may wait. It is pure: there is no
// clock, client or logger in it, and the same facts give the same answer.
package group
