package main

import (
	"context"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/server"
)

func TestTheDrainOfWebhooksIsScaledUnlessItIsGiven(t *testing.T) {
	for _, c := range []struct {
		args []string
		want time.Duration
	}{
		{[]string{}, server.LeaveTime},
		{[]string{"--sharding-scale=0.2"}, server.LeaveTime / 5},
		{[]string{"--sharding-scale=0.2", "--webhook-drain=30s"}, 30 * time.Second},
		{[]string{"--webhook-drain=0"}, 0},
	} {
		o, err := optionsOf(t, c.args)
		if err != nil || o.WebhookDrain != c.want {
			t.Errorf("manager %v: %s, error %v, want %s", c.args, o.WebhookDrain, err, c.want)
		}
	}
}

func TestTheContainerIsKnownFromItsEnvironment(t *testing.T) {
	t.Setenv("POD_UID", "pod-1")
	t.Setenv("CONTAINER_NAME", "")
	o, err := optionsOf(t, []string{})
	if err != nil || o.PodUID != "pod-1" || o.ContainerName != "manager" || o.TerminationLog != "/dev/termination-log" {
		t.Errorf("%q, %q, %q, error %v", o.PodUID, o.ContainerName, o.TerminationLog, err)
	}
}

func TestTheAddressesAndTheMemoryOfMembersAreRead(t *testing.T) {
	o, err := optionsOf(t, []string{"--member-addresses=10.0.0.0/8,*.example.com", "--member-addresses=192.0.2.1", "--member-memory=200"})
	if err != nil || len(o.MemberAddresses) != 3 || o.MemberMemory != 200 {
		t.Errorf("%q, %d, error %v", o.MemberAddresses, o.MemberMemory, err)
	}
	for _, wrong := range []string{"--member-addresses=https://example.com", "--member-addresses=10.0.0.0/40", "--member-memory=0"} {
		if _, err := optionsOf(t, []string{wrong}); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// optionsOf are the options that the operator is run with.
func optionsOf(t *testing.T, args []string) (o options, err error) {
	t.Helper()
	command := newCommand(func(_ context.Context, given options) error {
		o = given
		return nil
	})
	command.SetArgs(args)
	err = command.ExecuteContext(t.Context())
	return o, err
}
