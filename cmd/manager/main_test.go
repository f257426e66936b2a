package main

import (
	"bytes"
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
		{[]string{"--help"}, "render ", ""},
		{[]string{"help"}, "--workers", ""},
		{[]string{"--nonsense"}, "", "--nonsense; see manager --help"},
		{[]string{"frobnicate"}, "", "frobnicate"},
		{[]string{"shard"}, "", "Did you mean this?"},
		{[]string{"version", "extra"}, "", `unknown command "extra"`},
		{[]string{"--workers=0"}, "", "--workers"},
		{[]string{"--shard-buckets=0"}, "", "--shard-buckets"},
		{[]string{"--sharding-scale=0"}, "", "--sharding-scale"},
		{[]string{"--lost-replica-wait=0s"}, "", "--lost-replica-wait"},
		{[]string{"shards", "--help"}, "--namespace", ""},
		{[]string{"shards", "extra"}, "", `unknown command "extra"`},
		{[]string{"--member-qps=-1"}, "", "--member-qps"},
		{[]string{"--webhook-drain=-1s"}, "", "--webhook-drain"},
		{[]string{"--metrics-cert-path=certs"}, "", "--metrics-secure"},
		{[]string{"crds", "--help"}, "apply ", ""},
		{[]string{"crds", "apply", "--help"}, "--timeout", ""},
		{[]string{"help", "crds", "remove"}, "--kubeconfig", ""},
		{[]string{"crds"}, "", "manager crds apply"},
		{[]string{"crds", "frobnicate"}, "", "manager crds apply"},
		{[]string{"crds", "apply", "extra"}, "", `unknown command "extra"`},
		{[]string{"check", "--help"}, "--webhook-url", ""},
		{[]string{"check", "--webhook-url=http://example.com"}, "", "https://"},
		{[]string{"check", "--replicas=-1"}, "", "--replicas"},
	} {
		var out bytes.Buffer
		err := run(t.Context(), c.args, &out)
		if !strings.Contains(out.String(), c.prints) {
			t.Errorf("manager %s prints %q, which lacks %q", strings.Join(c.args, " "), out.String(), c.prints)
		}
		if (err == nil) != (c.err == "") || (err != nil && !strings.Contains(err.Error(), c.err)) {
			t.Errorf("manager %s: error %v, want one that says %q", strings.Join(c.args, " "), err, c.err)
		}
	}
}
