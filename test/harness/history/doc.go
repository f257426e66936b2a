// Package history checks the actions of several replicas on groups, from the records of an observer. Overlaps finds overlapping calls with
// their callers and times. Linearizable checks the calls against the model of a lock. Timeline measures how long buckets had no live owner.
// The package does not depend on the source of the records.
package history
