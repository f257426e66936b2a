package policy

// limited are the fields of a group that limits apply to. The index of each is its bit in a [fieldSet].
var limited = [...]struct {
	name, unit string
	in         func(*Bounds) *Range
}{
	{"cpu", "", func(b *Bounds) *Range { return &b.CPU }},
	{"memory", " GiB", func(b *Bounds) *Range { return &b.Memory }},
	{"disk", " GiB", func(b *Bounds) *Range { return &b.Disk }},
	{"replicas", "", func(b *Bounds) *Range { return &b.Replicas }},
}

// fieldSet is a set of limited fields.
type fieldSet uint8

// defaultLimits are those of the original operator, and one for disks, which it could not set. Each applies until an enforced policy sets a range for its field. So an installation without
// policies allows what it always did, and a policy opens no field without a range.
var defaultLimits = Bounds{
	CPU:      Range{Min: new(int64(1)), Max: new(int64(4))},
	Memory:   Range{Min: new(int64(1)), Max: new(int64(8))},
	Disk:     Range{Max: new(int64(100))},
	Replicas: Range{Min: new(int64(1))},
}

// DefaultLimits returns the bounds of each field without a range in an enforced policy.
func DefaultLimits() Bounds { return defaultLimits }

// byDefault has the default limits as a policy, for each set of fields that enforced policies have lifted. It is built once, because groups are
// evaluated often.
var byDefault = func() (made [1 << len(limited)]*Policy) {
	for lifted := range made {
		p := &Policy{origin: " that holds by default: no VmGroupPolicy in mode Enforce limits it here", bounds: defaultLimits}
		for i, field := range limited {
			if lifted&(1<<i) != 0 {
				*field.in(&p.bounds) = Range{}
			}
		}
		made[lifted] = p
	}
	return made
}()

// Lifts names the fields whose default limits do not apply where the policy does.
func (p *Policy) Lifts() []string {
	var names []string
	for i, field := range limited {
		if p.lifts&(1<<i) != 0 {
			names = append(names, field.name)
		}
	}
	return names
}
