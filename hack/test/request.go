package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// request contains the options of the command line.
type request struct {
	tier tier
	// part of the slow tests, from 1. 0 means all.
	part int
	// commit whose hash selects some of the slow tests.
	commit string
	// args and packages for `go test`.
	args, packages []string
}

type tier int

const (
	standard tier = iota
	fast
	race
	slow
	pick
	e2e
)

func parse(args []string) (r request, err error) {
	tiers := map[string]tier{"-fast": fast, "-race": race, "-slow": slow, "-pick": pick, "-e2e": e2e}
	next := func(i *int) (string, error) {
		*i++
		if *i >= len(args) {
			return "", fmt.Errorf("%s needs a value", args[*i-1])
		}
		return args[*i], nil
	}
	for i := 0; i < len(args); i++ {
		chosen, isTier := tiers[args[i]]
		switch {
		case isTier && r.tier != standard:
			return r, errors.New("choose one of -fast, -race, -slow, -pick and -e2e")
		case args[i] == "-pick":
			if r.commit, err = next(&i); err != nil {
				return r, err
			}
			r.tier = pick
		case isTier:
			r.tier = chosen
		case args[i] == "-part":
			value, err := next(&i)
			if err != nil {
				return r, err
			}
			if r.part, err = strconv.Atoi(value); err != nil || r.part < 1 || r.part > parts() {
				return r, fmt.Errorf("-part %s: there are the parts 1 to %d", value, parts())
			}
		case args[i] == "." || strings.HasPrefix(args[i], "./"):
			r.packages = append(r.packages, args[i])
		default:
			r.args = append(r.args, args[i])
		}
	}
	if r.part != 0 && r.tier != slow {
		return r, errors.New("-part goes with -slow")
	}
	if len(r.packages) > 0 && (r.tier == slow || r.tier == pick) {
		return r, errors.New("-slow and -pick have packages of their own; to run one story use go test -tags slow -run NAME PACKAGE")
	}
	return r, nil
}

// steps returns the requested runs of `go test`, in order.
func (r request) steps(ctx context.Context) ([]step, error) {
	switch r.tier {
	case fast:
		return fastSteps(ctx, r)
	case race:
		return raceSteps(ctx, r)
	case slow:
		return slowSteps(r.part, r.args), nil
	case pick:
		return pickedSteps(r.commit, r.args), nil
	case e2e:
		return e2eSteps(r), nil
	default:
		return standardSteps(ctx, r)
	}
}
