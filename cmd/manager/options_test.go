package main

import (
	"io"
	"testing"
	"time"
)

func TestTheDrainOfWebhooksIsScaledUnlessItIsGiven(t *testing.T) {
	for _, c := range []struct {
		args []string
		want time.Duration
	}{
		{nil, leaveTime},
		{[]string{"--sharding-scale=0.2"}, leaveTime / 5},
		{[]string{"--sharding-scale=0.2", "--webhook-drain=30s"}, 30 * time.Second},
		{[]string{"--webhook-drain=0"}, 0},
	} {
		o, err := parseOptions(c.args, io.Discard)
		if err != nil || o.webhookDrain != c.want {
			t.Errorf("manager %v: %s, error %v, want %s", c.args, o.webhookDrain, err, c.want)
		}
	}
}

func TestTheContainerIsKnownFromItsEnvironment(t *testing.T) {
	t.Setenv("POD_UID", "pod-1")
	t.Setenv("CONTAINER_NAME", "")
	o, err := parseOptions(nil, io.Discard)
	if err != nil || o.podUID != "pod-1" || o.containerName != "manager" || o.terminationLog != "/dev/termination-log" {
		t.Errorf("%q, %q, %q, error %v", o.podUID, o.containerName, o.terminationLog, err)
	}
}
