package main

import "testing"

func TestAPathOfThisMachineIsNotTheEndOfAnother(t *testing.T) {
	for line, want := range map[string]bool{
		"/build/x":                                     true,
		"see /build/x":                                 true,
		"file:///build/x":                              true,
		`dir = "/build/x"`:                             true,
		"PATH=/bin:/build/x":                           true,
		"example.com/build/version":                    false,
		"./build/x, ../build/x, $(dir)/build/x":        false,
		"example.com/build/version, copied to /build/": true,
		"/build": false,
		"":       false,
	} {
		if got := names(line, "/build/"); got != want {
			t.Errorf("%q: got %t, want %t", line, got, want)
		}
	}
}
