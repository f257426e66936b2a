package share

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func draw(t *rapid.T) (limit int, claims []Claim, turn int) {
	limit = rapid.IntRange(0, 12).Draw(t, "limit")
	turn = rapid.IntRange(0, 100).Draw(t, "turn")
	for i := range rapid.IntRange(1, 7).Draw(t, "replicas") {
		claims = append(claims, Claim{
			fmt.Sprint(i), rapid.IntRange(0, 15).Draw(t, "demand"), rapid.IntRange(0, 6).Draw(t, "using"),
		})
	}
	return limit, claims, turn
}

func sum(numbers []int) int {
	n := 0
	for _, x := range numbers {
		n += x
	}
	return n
}

func TestAllocate(t *testing.T) {
	for _, tc := range []struct {
		name   string
		limit  int
		claims []Claim
		turn   int
		want   []int
	}{
		{"alone", 8, []Claim{{"a", 48, 0}}, 0, []int{8}},
		{"idle slots go to who wants them", 8, []Claim{{"a", 48, 0}, {"b", 0, 0}, {"c", 1, 0}}, 0, []int{7, 0, 1}},
		{"equals", 8, []Claim{{"a", 48, 0}, {"b", 48, 0}}, 0, []int{4, 4}},
		{"what is left over", 8, []Claim{{"a", 48, 0}, {"b", 48, 0}, {"c", 48, 0}}, 0, []int{3, 3, 2}},
		{"what is left over a turn later", 8, []Claim{{"a", 48, 0}, {"b", 48, 0}, {"c", 48, 0}}, 1, []int{2, 3, 3}},
		{"a raise waits for what is used", 8, []Claim{{"a", 48, 8}, {"b", 48, 0}}, 0, []int{4, 0}},
		{"a raise takes what is given up", 8, []Claim{{"a", 48, 6}, {"b", 48, 0}}, 0, []int{4, 2}},
		{"the least is raised first", 8, []Claim{{"a", 0, 5}, {"b", 48, 1}, {"c", 48, 0}}, 0, []int{0, 2, 1}},
		{"more than the limit is used", 8, []Claim{{"a", 48, 12}, {"b", 48, 1}}, 0, []int{4, 1}},
		{"no limit that allows anything", 0, []Claim{{"a", 48, 0}}, 0, []int{0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Allocate(tc.limit, tc.claims, tc.turn); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestTargetsAreFairAndComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, claims, turn := draw(t)
		got := Targets(limit, claims, turn)
		demand := 0
		for i, c := range claims {
			demand += c.Demand
			if got[i] < 0 || got[i] > c.Demand {
				t.Fatalf("%s gets %d of a demand of %d", c.Replica, got[i], c.Demand)
			}
			for j := range claims {
				if got[i] < c.Demand && got[j] > got[i]+1 {
					t.Fatalf("%v: %s wants more and has less than %s", got, c.Replica, claims[j].Replica)
				}
			}
		}
		if sum(got) != min(limit, demand) {
			t.Fatalf("%v of %d for a demand of %d", got, limit, demand)
		}
	})
}

func TestAllocateIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, claims, turn := draw(t)
		now, targets := Allocate(limit, claims, turn), Targets(limit, claims, turn)
		before, after := 0, 0
		for i, c := range claims {
			if now[i] > targets[i] {
				t.Fatalf("%s gets %d, more than its target %d", c.Replica, now[i], targets[i])
			}
			if now[i] < min(targets[i], c.Using) {
				t.Fatalf("%s gets %d, which takes away what it could keep: it uses %d of %d", c.Replica, now[i], c.Using, targets[i])
			}
			before += c.Using
			after += max(now[i], c.Using)
		}
		if after > max(limit, before) {
			t.Fatalf("%v: %d may be used of %d, and %d were", now, after, limit, before)
		}
		if after < limit && !slices.Equal(now, targets) {
			t.Fatalf("%v: a replica waits for %v although only %d of %d may be used", now, targets, after, limit)
		}
	})
}

func TestAllocateReachesTheTargets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, claims, turn := draw(t)
		for range 3 { // all lower, then all raise
			for i, n := range Allocate(limit, claims, turn) {
				claims[i].Using = n
			}
		}
		if got, want := Allocate(limit, claims, turn), Targets(limit, claims, turn); !slices.Equal(got, want) {
			t.Fatalf("%v once no replica uses more, want %v", got, want)
		}
	})
}

func TestOrderOfClaimsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, claims, turn := draw(t)
		want := map[string]int{}
		for i, n := range Allocate(limit, claims, turn) {
			want[claims[i].Replica] = n
		}
		shuffled := rapid.Permutation(claims).Draw(t, "order")
		for i, n := range Allocate(limit, shuffled, turn) {
			if n != want[shuffled[i].Replica] {
				t.Fatalf("%s gets %d or %d", shuffled[i].Replica, n, want[shuffled[i].Replica])
			}
		}
	})
}

func TestNobodyStarvesOverTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, claims, turn := draw(t)
		limit++
		got := make([]int, len(claims))
		for i := range claims {
			for j, n := range Targets(limit, claims, turn+i) {
				got[j] += n
			}
		}
		for i, c := range claims {
			if c.Demand > 0 && got[i] == 0 {
				t.Fatalf("%s gets nothing in %d turns: %v", c.Replica, len(claims), got)
			}
		}
	})
}
