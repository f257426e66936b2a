// Package faults breaks the whole product in one way after the other and stores what its replicas report before, during and after each fault.
// test/alerts evaluates the rules of the chart over these scrapes.
package faults
