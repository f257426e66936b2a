//go:build unix && !fast

package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

var apiServer *localcluster.ControlPlane

// startCluster starts the API server of this package's tests when the first test asks; TestMain ends it.
var startCluster = sync.OnceValues(func() (*localcluster.ControlPlane, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	started, err := localcluster.StartControlPlane(ctx, localcluster.Options{Name: "hub"})
	apiServer = started
	return started, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if apiServer != nil {
		if err := apiServer.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// realHub returns an API server, and a client of somebody who may do everything.
func realHub(t *testing.T) (*localcluster.ControlPlane, client.Client) {
	t.Helper()
	server, err := startCluster()
	if err != nil {
		t.Fatalf("start an API server: %v", err)
	}
	scheme := allkinds.Scheme()
	c, err := client.New(server.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return server, c
}

// configOf is for a user of the API server, who may do nothing until bound.
func configOf(t *testing.T, server *localcluster.ControlPlane, user string) *rest.Config {
	t.Helper()
	kubeconfig, err := server.UserKubeconfig(user)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return config
}
