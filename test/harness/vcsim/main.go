// Command vcsim serves govmomi's vCenter simulator, prepared for the operator: one datacenter, one cluster, several templates with
// snapshots and an ordinary VM. govmomi's own command cannot be installed by version, because its module has a replace directive.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// ready is the content of -ready-file.
type ready struct {
	// URL of the SDK.
	URL string `json:"url"`
	// CA is the server's certificate in PEM, with -tls.
	CA string `json:"ca,omitempty"`
	// Username and Password of the operator's account.
	Username string `json:"username"`
	Password string `json:"password"`
	// PID of this process.
	PID int `json:"pid"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "vcsim:", err)
		os.Exit(1)
	}
}

func run() error {
	var o sim.Options
	var templates, ordinary, readyFile, privileges string
	flag.StringVar(&o.Listen, "listen", "127.0.0.1:0", "host:port to serve on; port 0 takes a free one")
	flag.StringVar(&templates, "templates", "vm-operator-template", "names of the templates, separated by commas")
	flag.StringVar(&ordinary, "vms", "db-prod-0", "names of ordinary VMs, separated by commas")
	flag.IntVar(&o.Hosts, "hosts", 2, "hosts in the cluster")
	flag.StringVar((*string)(&o.DRS), "drs", "", "DRS of the cluster: manual, partiallyAutomated or fullyAutomated; off unless set")
	flag.DurationVar(&o.CloneDelay, "clone-delay", 0, "how long the task of a clone runs")
	flag.TextVar(&o.CloneShows, "clone-shows", sim.WithoutConfig, "what is seen of a VM while its clone runs: without-config, without-extra-config or unseen")
	flag.DurationVar(&o.TokenServiceStart, "token-service-start", 0, "for how long all logins of the operator's account are rejected after the start")
	flag.StringVar(&o.Username, "username", "user", "user name of the operator's account, which has only the privileges it needs")
	flag.StringVar(&o.Password, "password", "pass", "password of the operator's account")
	flag.StringVar(&privileges, "privileges", "", "privileges of that account, separated by commas; what the operator needs without adoption unless set")
	flag.BoolVar(&o.NoRootPermission, "no-root-permission", false, "take everything on the vCenter's root object from that account")
	flag.StringVar(&o.AdminUsername, "admin-username", sim.AdminUsername, "user name of a person who may do everything")
	flag.StringVar(&o.AdminPassword, "admin-password", sim.AdminPassword, "password of that person")
	flag.DurationVar(&o.TaskRetention, "task-retention", 10*time.Minute, "how long tasks are kept after they ended")
	flag.BoolVar(&o.AnySOAPAction, "any-soap-action", false, "accept requests whose header SOAPAction names no version of the API")
	flag.BoolVar(&o.TLS, "tls", false, "serve https with a self-signed certificate")
	flag.StringVar(&o.InstanceUUID, "instance-uuid", "", "instance UUID of the vCenter; that of govmomi's simulator unless set")
	flag.StringVar(&readyFile, "ready-file", "", "file to write URL, certificate and login to, as JSON, once serving")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	o.Templates, o.Ordinary = names(templates), names(ordinary)
	if privileges != "" {
		o.Privileges = names(privileges)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := sim.Start(o)
	if err != nil {
		return err
	}
	defer s.Close()
	if readyFile != "" {
		r := ready{URL: s.URL, CA: string(s.CA), Username: s.Username(), Password: s.Password(), PID: os.Getpid()}
		if err := writeReady(readyFile, r); err != nil {
			return err
		}
	}
	fmt.Println("serving", s.URL)
	<-ctx.Done()
	return nil
}

func names(list string) []string {
	out := []string{}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// writeReady writes the file in one step, so that a waiting program never reads a part of it.
func writeReady(file string, r ready) error {
	data, err := json.Marshal(r) //nolint:gosec // the login of a simulator is no secret
	if err != nil {
		return fmt.Errorf("encode the ready file: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".vcsim-*")
	if err != nil {
		return fmt.Errorf("write the ready file: %w", err)
	}
	_, err = tmp.Write(data)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("write the ready file: %w", err)
	}
	return nil
}
