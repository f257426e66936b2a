// Package model runs [group.Decide] through random histories in a world of its own, and checks what must hold whatever happens.
//
// The world is written from the documentation: it has its own vCenter, API server, hub record, quota ledger, policies, and clock, and shares
// no simulator with the packages that it tests. Of the product it uses the decision, its input, and the types that these are made of.
//
// A [History] is a start, a list of events, and an end. Nothing in a run is random: the same history always gives the same run. So a failure
// is shrunk by leaving events out, and its seed repeats it:
//
//	go test ./test/model -run TestRandomHistories -args -model.seed=N -model.histories=1
//
// A run has the events, 35 minutes of rest, and an end: the group is healed, or it is deleted. The rules are in the files invariants.go (each pass),
// rest.go (after the rest), and ending.go (after the end).
package model
