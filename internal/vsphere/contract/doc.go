// Package contract is the test that every vsphere.Server must pass: the real one, and the fake, so that tests with the
// fake are valid. It waits for conditions with a deadline, so that effects can be visible at once or after a round
// trip.
package contract
