// Package hostileapi makes the API server behind a proxy hostile: what it answers is not what it has. A test says what is
// told instead, with Go functions that change objects, and with objects that exist nowhere but in what is told. Clients
// see both wherever objects are shown: when they read one, in lists, and in each event of a watch, initial ones included.
//
// An [Attack] answers in its place: with what is too much, or leads elsewhere, or does not end.
//
// Requests for objects are changed so that answers are JSON. Lists and watches of invented objects know no selectors, and a
// list with a limit has none of them.
package hostileapi
