package main

import "testing"

func TestSamplesWithTheLabelsAreAddedUp(t *testing.T) {
	const text = `# HELP reconciles_total about them
# TYPE reconciles_total counter
reconciles_total{controller="vmgroup",result="success"} 40
reconciles_total{controller="vmgroup",result="requeue"} 2
reconciles_total{controller="member",result="success"} 7
reconciles_total_created{controller="vmgroup"} 1.7e+09
depth 3
`
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"reconciles_total", []string{`controller="vmgroup"`}, 42},
		{"reconciles_total", []string{`controller="vmgroup"`, `result="requeue"`}, 2},
		{"reconciles_total", nil, 49},
		{"depth", nil, 3},
		{"missing", nil, 0},
	} {
		if got := sumOf(text, c.name, c.labels...); got != c.want {
			t.Errorf("%s%v is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
}
