// Package faults breaks the whole product in one way after another, and uses it as usual for a while. test/alerts
// evaluates the rules of the chart over the replicas' reports. With the flag -faults.record, the scrapes replace those
// that test/alerts evaluates without a run of the product.
package faults
