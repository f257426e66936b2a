// Package hostileapi makes the API server behind a proxy hostile: its answers differ from its objects. A test defines the differences with
// Go functions that change objects, and with invented objects. Clients see both in all answers: single objects, lists, and each event of a
// watch, including the initial ones.
//
// An [Attack] answers in place of the API server: with too much data, with a redirect, or without an end.
//
// Requests for objects are changed so that answers are JSON. Lists and watches of invented objects ignore selectors, and a list with a
// limit contains no invented objects.
package hostileapi
