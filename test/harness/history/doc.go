// Package history judges what several replicas did to groups, as something beside them recorded it: calls that overlapped, by a
// sweep that says who, when and what (Overlaps) and by a linearizability checker against the model of a lock (Linearizable),
// and for how long buckets had no living owner (Timeline). It knows nothing of where the records come from.
package history
