// Package contract is the test that every vsphere.Server has to pass: the fake, so that what is tested with it is
// true, and the real one. It waits for conditions with a deadline, so that it does not matter whether effects are
// visible at once or after a round trip.
package contract
