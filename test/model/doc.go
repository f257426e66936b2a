// Package model runs [group.Decide] through random histories in a simulated world, and checks rules that must always hold.
//
// The world is written from the documentation. It has its own vCenter, API server, hub record, quota ledger, policies, and clock, and shares
// no simulator with the packages that it tests. From the product it uses the decision, its input, and their types.
//
// A [History] is a start, a list of events, and an end. Nothing in a run is random: the same history always gives the same run. So a failure
// is shrunk by removing events, and its seed repeats it:
//
//	go test ./test/model -run TestRandomHistories -args -model.seed=N -model.histories=1
//
// A run has the events, 35 minutes of rest, and an end: the group is healed or deleted. The rules are in the files invariants.go (each pass),
// rest.go (after the rest), and ending.go (after the end).
package model
