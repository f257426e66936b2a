package fleet

import "github.com/codeconnect/vmgroup-operator/internal/sharding"

// noBucket stands for the bucket of a group whose member is not known.
const noBucket = -1

// LogValues returns the keys and values that identify a group in each log line about it.
func (f *Fleet) LogValues(ref Ref) []any {
	bucket, known := f.Bucket(ref)
	if !known {
		bucket = noBucket
	}
	return []any{"member", ref.Member, "namespace", ref.Namespace, "name", ref.Name, "bucket", bucket}
}

// Bucket returns the bucket of a group, or false while its member is not engaged.
func (f *Fleet) Bucket(ref Ref) (int, bool) {
	key, known := f.key(ref)
	if !known {
		return 0, false
	}
	return f.buckets.Bucket(key), true
}

// Holds reports whether this replica can act on a group now.
func (f *Fleet) Holds(ref Ref) bool {
	key, known := f.key(ref)
	return known && f.buckets.Holds(key)
}

func (f *Fleet) key(ref Ref) (sharding.Key, bool) {
	member, known := f.Member(ref.Member)
	return sharding.Key{ClusterUID: member.UID, Namespace: ref.Namespace, Name: ref.Name}, known
}
