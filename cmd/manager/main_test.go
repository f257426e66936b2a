package main

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"
)

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		args   []string
		prints string
		err    string
	}{
		{[]string{"version"}, "dev", ""},
		{[]string{"render"}, "kind: CustomResourceDefinition", ""},
		{[]string{"render"}, "name: vmgroup-operator-member", ""},
		{[]string{"--help"}, "manager render", "help"},
		{[]string{"help"}, "-workers", "help"},
		{[]string{"--nonsense"}, "", "nonsense"},
		{[]string{"frobnicate"}, "", "frobnicate"},
		{[]string{"version", "extra"}, "", "unknown argument"},
		{[]string{"--workers=0"}, "", "--workers"},
		{[]string{"--shard-buckets=0"}, "", "--shard-buckets"},
		{[]string{"--sharding-scale=0"}, "", "--sharding-scale"},
		{[]string{"--lost-replica-wait=0s"}, "", "--lost-replica-wait"},
		{[]string{"shards", "--help"}, "-namespace", "help"},
		{[]string{"shards", "extra"}, "", "unknown argument"},
		{[]string{"--member-qps=-1"}, "", "--member-qps"},
		{[]string{"--webhook-drain=-1s"}, "", "--webhook-drain"},
		{[]string{"--metrics-cert-path=certs"}, "", "--metrics-secure"},
		{[]string{"crds", "--help"}, "manager crds apply", "help"},
		{[]string{"crds", "frobnicate"}, "", "manager crds"},
		{[]string{"check", "--help"}, "-webhook-url", "help"},
		{[]string{"check", "--webhook-url=http://example.com"}, "", "https://"},
		{[]string{"check", "--replicas=-1"}, "", "--replicas"},
	} {
		var out bytes.Buffer
		err := run(c.args, &out)
		if !strings.Contains(out.String(), c.prints) {
			t.Errorf("manager %s prints %q, which lacks %q", strings.Join(c.args, " "), out.String(), c.prints)
		}
		if (err == nil) != (c.err == "") || (err != nil && !strings.Contains(err.Error(), c.err)) {
			t.Errorf("manager %s: error %v, want one that says %q", strings.Join(c.args, " "), err, c.err)
		}
		if c.err == "help" && !errors.Is(err, flag.ErrHelp) {
			t.Errorf("manager %s: %v is not taken for a request for help", strings.Join(c.args, " "), err)
		}
	}
}
