package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Step is one move of a process on the lock of a group. A call takes the lock when it arrives and gives it back when it
// ends; the calls of one process share it.
type Step struct {
	Group, Boot string
	Release     bool
	// Epoch under which the lock is taken; zero if that is not known.
	Epoch Epoch
	call  Call
}

// lockState is who has the lock of one group, how often, and the highest epoch that was seen.
type lockState struct {
	holder string
	count  int
	epoch  Epoch
}

// lockModel is a lock that one process at a time holds, any number of times, and whose epochs do not fall.
func lockModel() porcupine.Model {
	return porcupine.Model{
		Partition: partition,
		Init:      func() any { return lockState{} },
		Step: func(state, input, _ any) (bool, any) {
			s, step := state.(lockState), input.(Step)
			if step.Release {
				if s.holder != step.Boot {
					return false, s
				}
				if s.count--; s.count == 0 {
					s.holder = ""
				}
				return true, s
			}
			if s.holder != "" && s.holder != step.Boot {
				return false, s
			}
			if step.Epoch != (Epoch{}) {
				if step.Epoch.Compare(s.epoch) < 0 {
					return false, s
				}
				s.epoch = step.Epoch
			}
			s.holder = step.Boot
			s.count++
			return true, s
		},
		DescribeOperation: func(input, _ any) string { return input.(Step).String() },
		DescribeState: func(state any) string {
			s := state.(lockState)
			return fmt.Sprintf("held %d times by %q, epoch %d.%d", s.count, s.holder, s.epoch.Generation, s.epoch.Number)
		},
	}
}

// String says what the step is.
func (s Step) String() string {
	verb := "take for"
	if s.Release {
		verb = "give back after"
	}
	return fmt.Sprintf("%s %s", verb, s.call)
}

func partition(history []porcupine.Operation) [][]porcupine.Operation {
	var order []string
	groups := map[string][]porcupine.Operation{}
	for _, op := range history {
		group := op.Input.(Step).Group
		if groups[group] == nil {
			order = append(order, group)
		}
		groups[group] = append(groups[group], op)
	}
	out := make([][]porcupine.Operation, 0, len(order))
	for _, group := range order {
		out = append(out, groups[group])
	}
	return out
}

// steps are the moves of a history. Each is a moment, not an interval: the proxy sees when a request has arrived and when its
// answer leaves, and the lock must be held from the one to the other. Moves of one moment may be in any order.
func (h History) steps() []porcupine.Operation {
	var boots []string
	var out []porcupine.Operation
	for _, c := range h.acts().Calls {
		if !slices.Contains(boots, c.Boot) {
			boots = append(boots, c.Boot)
		}
		add := func(at time.Time, release bool, epoch Epoch) {
			out = append(out, porcupine.Operation{
				ClientId: slices.Index(boots, c.Boot), Call: at.UnixNano(), Return: at.UnixNano(),
				Input: Step{Group: c.Group, Boot: c.Boot, Release: release, Epoch: epoch, call: c},
			})
		}
		add(c.Start, false, c.Epoch)
		if !c.End.IsZero() {
			add(c.End, true, Epoch{})
		}
	}
	return out
}

// Linearizable reports whether the history is one that a lock for each group allows. patience bounds the check, which fails
// when it is over.
func (h History) Linearizable(patience time.Duration) (bool, Picture) {
	result, info := porcupine.CheckOperationsVerbose(lockModel(), h.steps(), patience)
	return result == porcupine.Ok, Picture{info}
}

// Picture of a history, for a person.
type Picture struct{ info porcupine.LinearizationInfo }

// Write draws the picture as a page for a browser.
func (p Picture) Write(path string) error {
	if err := porcupine.VisualizePath(lockModel(), p.info, path); err != nil {
		return fmt.Errorf("draw the history: %w", err)
	}
	return nil
}
