package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Step is one operation of a process on the lock of a group. A call takes the lock when it arrives and releases it when it ends. The calls
// of one process share it.
type Step struct {
	Group, Boot string
	Release     bool
	// Epoch under which the lock is taken, or zero if it is unknown.
	Epoch Epoch
	call  Call
}

// lockState is the holder of a group's lock, the number of its calls, and the highest epoch so far.
type lockState struct {
	holder string
	count  int
	epoch  Epoch
}

// lockModel is a lock with one holder at a time, which can take it several times. Its epochs never decrease.
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

// String describes the step.
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

// steps returns the steps of a history. Each is a moment and not an interval: the proxy sees the arrival of a request and the departure of
// its answer, and the lock must be held between the two. Steps of the same moment can be in any order.
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

// Linearizable reports whether a lock for each group allows the history. patience is the timeout of the check, which fails if it expires.
func (h History) Linearizable(patience time.Duration) (bool, Picture) {
	result, info := porcupine.CheckOperationsVerbose(lockModel(), h.steps(), patience)
	return result == porcupine.Ok, Picture{info}
}

// Picture is a graphic of a history.
type Picture struct{ info porcupine.LinearizationInfo }

// Write writes the picture as an HTML page.
func (p Picture) Write(path string) error {
	if err := porcupine.VisualizePath(lockModel(), p.info, path); err != nil {
		return fmt.Errorf("draw the history: %w", err)
	}
	return nil
}
