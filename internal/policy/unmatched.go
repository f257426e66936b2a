package policy

// unmatched holds for groups that no policy matches: the limits of the original operator, so that an installation
// without any policy allows what it always did.
var unmatched = &Policy{
	origin: " for groups that no VmGroupPolicy matches",
	bounds: Bounds{
		CPU:      Range{Min: new(int64(1)), Max: new(int64(4))},
		Memory:   Range{Min: new(int64(1)), Max: new(int64(8))},
		Replicas: Range{Min: new(int64(1))},
	},
}

// Unmatched returns the limits of groups that no policy matches.
func (*Set) Unmatched() Bounds { return unmatched.bounds }
