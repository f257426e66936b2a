//go:build unix

// Command demo shows the operator's main job on real API servers and a simulated vCenter: groups that two
// teams apply in their own clusters become VMs, stay repaired, scale and go away. It exits 0 only if every
// step held; its last line is then "demo: ok".
//
// With DEMO=stay in the environment it stays up before the last step until Ctrl-C, and then just takes all away.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/go-logr/logr"

	"github.com/codeconnect/vmgroup-operator/test/stack"
	"github.com/codeconnect/vmgroup-operator/test/vcsim/sim"
)

func main() {
	ctrl.SetLogger(logr.Discard()) // clients of this program have nothing to say
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	err := run(ctx, os.Getenv("DEMO") == "stay")
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: FAILED: %v\n", err)
		os.Exit(1)
	}
	fmt.Println("demo: ok")
}

func run(ctx context.Context, stay bool) (err error) {
	began := time.Now()
	say("Starting a hub, two member clusters (real kube-apiserver and etcd), cert-manager, a simulated vCenter and three replicas of the manager.")
	s, err := stack.Start(ctx, stack.Options{
		Members: []string{"team-a", "team-b"}, Replicas: 3, Admission: true,
		Sim: sim.Options{
			Templates: []string{"vm-operator-template", "debian-12"}, CloneDelay: 700 * time.Millisecond,
		},
		Out: os.Stdout,
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			fmt.Fprintf(os.Stderr, "\nThe managers' last words:\n%s\n", s.LastWords(15))
		}
		if stopErr := s.Stop(); err == nil && stopErr != nil {
			err = fmt.Errorf("clean up: %w", stopErr)
		}
	}()
	say("Up after %s.", since(began))

	d := &demo{stack: s, out: os.Stdout}
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"Both teams apply their samples", d.apply},
		{"Scale team-a's vg-1 from 3 to 5", d.scale},
		{"Somebody powers a VM off in vCenter, behind the operator's back", d.powerOff},
		{"Somebody deletes a VM in vCenter", d.deleteVM},
		{"vg-2 names a template that does not exist; name one that does", d.fixTemplate},
		{"A policy for all teams, and a group that breaks it", d.refuse},
		{"A group that leaves out what the policy fills in", d.fillIn},
		{"What would an edit do?", d.forecast},
		{"The certificate authority and the webhooks' certificate are renewed at once, under load", d.rotate},
		{"A replica is killed in the middle of a scale-up", d.killOne},
		{"Another is told to stop, as in an update", d.stopOne},
		{"The last one stops as well: what holds without a hub?", d.withoutHub},
	} {
		if err := d.step(ctx, step.name, step.run); err != nil {
			return err
		}
	}
	d.lookFurther()
	if stay {
		say("Staying up until Ctrl-C, which takes everything away.")
		<-ctx.Done()
		return nil
	}
	if err := d.step(ctx, "Delete every group", d.deleteAll); err != nil {
		return err
	}
	say("Everything held, in %s.", since(began))
	return nil
}
