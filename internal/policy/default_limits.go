package policy

// limited are the fields of a group that limits bound. The place of each is its bit in a [fieldSet].
var limited = [...]struct {
	name, unit string
	in         func(*Bounds) *Range
}{
	{"cpu", "", func(b *Bounds) *Range { return &b.CPU }},
	{"memory", " GiB", func(b *Bounds) *Range { return &b.Memory }},
	{"replicas", "", func(b *Bounds) *Range { return &b.Replicas }},
}

// fieldSet is a set of what is limited.
type fieldSet uint8

// defaultLimits are those of the original operator. Each holds until an enforced policy sets a range for its field: an
// installation without any policy allows what it always did, and no policy opens what it says nothing of.
var defaultLimits = Bounds{
	CPU:      Range{Min: new(int64(1)), Max: new(int64(4))},
	Memory:   Range{Min: new(int64(1)), Max: new(int64(8))},
	Replicas: Range{Min: new(int64(1))},
}

// DefaultLimits returns the bounds that hold for each field that no enforced policy sets a range for.
func DefaultLimits() Bounds { return defaultLimits }

// byDefault are the default limits as a policy, for each set of fields that enforced policies have lifted. They are made
// once: groups are evaluated all the time.
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

// Lifts names the fields whose default limits do not hold where the policy does.
func (p *Policy) Lifts() []string {
	var names []string
	for i, field := range limited {
		if p.lifts&(1<<i) != 0 {
			names = append(names, field.name)
		}
	}
	return names
}
