//go:build unix

// Command demo shows the operator's main task on real API servers and a simulated vCenter. Two teams apply groups in their own clusters.
// The operator creates, repairs, scales and deletes the VMs. It exits with 0 only if every step succeeds. Its last line is then "demo: ok".
//
// The hub starts without admission, because cert-manager takes long to build. Groups have VMs already by then.
//
// With DEMO=stay in the environment, the demo waits for Ctrl-C before the last step, and then removes everything.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/go-logr/logr"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func main() {
	ctrl.SetLogger(logr.Discard()) // this program's clients need no log
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program immediately
	err := run(ctx, os.Getenv("DEMO") == "stay")
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: FAILED: %v\n", err)
		os.Exit(1)
	}
	fmt.Println("demo: ok")
}

func run(ctx context.Context, stay bool) (err error) {
	began := time.Now()
	d := &demo{out: os.Stdout, began: beginning(began)}
	d.say("Starting a hub, two member clusters (real kube-apiserver and etcd), a simulated vCenter and three replicas of the manager.")
	s, err := stack.Start(ctx, stack.Options{
		Members: []string{"team-a", "team-b"}, Unjoined: true, Replicas: 3,
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
	d.say("Up after %s.", since(began))
	d.stack = s
	forget, err := d.writeKubeconfig()
	if err != nil {
		return err
	}
	defer forget()
	if err := d.play(ctx, d.withoutAdmission()); err != nil {
		return err
	}
	d.printf("\n")
	d.say("So far without admission: it needs cert-manager, which is built now if this is the first time. All of this runs on meanwhile.")
	if _, err := assets.Tool(ctx, "cert-manager", os.Stdout); err != nil {
		return err
	}
	if err := d.play(ctx, d.withAdmission()); err != nil {
		return err
	}
	if stay {
		return d.stay(ctx)
	}
	if err := d.play(ctx, []step{{"Delete every group", "kubectl delete vmgroups --all --context team-a", d.deleteAll}}); err != nil {
		return err
	}
	lines, err := s.CheckLogs()
	if err != nil {
		return fmt.Errorf("read the logs of the managers: %w", err)
	}
	d.printf("\n")
	d.say("The replicas have logged %d lines: each is JSON, and none has vCenter's password.", lines)
	d.say("Everything held, in %s.", progress.Elapsed(time.Since(d.began)))
	d.tryNext()
	return nil
}

// withoutAdmission are the first steps.
func (d *demo) withoutAdmission() []step {
	return []step{
		{"Both clusters join the hub", "kubectl vmgroup member join team-a --member-context team-a", d.join},
		{"Both teams apply their samples", "kubectl apply -f config/samples/vg-1.yaml --context team-a", d.apply},
		{"Scale team-a's vg-1 from 3 to 5", "kubectl scale vmgroup vg-1 --replicas=5 --context team-a", d.scale},
		{"A person powers a VM off in vCenter", "kubectl vmgroup events vg-1 --context team-a", d.powerOff},
		{"A person deletes a VM in vCenter", "kubectl vmgroup describe vg-1 --context team-a", d.deleteVM},
		{"vg-2 names a template that does not exist; name one that does", "kubectl vmgroup describe vg-2 --context team-a", d.fixTemplate},
	}
}

// withAdmission are the steps that need certificates.
func (d *demo) withAdmission() []step {
	return []step{
		{"Admission is turned on, and the replicas are replaced one after the other", "kubectl vmgroup shards", d.turnOn},
		{"A policy for all teams, and a group that breaks it", "kubectl vmgroup plan vg-1 --cpu 16 --context team-a", d.refuse},
		{"A group that leaves out what the policy fills in", "kubectl vmgroup get --context team-a", d.fillIn},
		{"What would an edit do?", "kubectl vmgroup plan vg-1 --replicas 3 --context team-a", d.forecast},
		{"The certificate authority and the webhooks' certificate are renewed at once, under load", "kubectl vmgroup member check team-a", d.rotate},
		{"A replica is killed in the middle of a scale-up", "kubectl vmgroup shards", d.killOne},
		{"Another replica stops, as in an update", "kubectl vmgroup status", d.stopOne},
		{"The last one stops as well: what holds without a hub?", "kubectl vmgroup status", d.withoutHub},
	}
}

// beginning returns the start of `make demo`, which can build kube-apiserver first. Without make, it returns the start of this program.
func beginning(started time.Time) time.Time {
	seconds, err := strconv.ParseInt(os.Getenv("DEMO_BEGAN"), 10, 64)
	if err != nil {
		return started
	}
	return time.Unix(seconds, 0)
}
