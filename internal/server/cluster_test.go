//go:build unix && !fast

package server

import (
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// cluster is shared by all tests of the package.
var cluster = localcluster.Share("hub")

func TestMain(m *testing.M) { os.Exit(cluster.Run(m)) }

// realHub returns an API server, and a client of a user with all permissions.
func realHub(t *testing.T) (*localcluster.ControlPlane, client.Client) {
	t.Helper()
	server := cluster.Get(t)
	c, err := client.New(server.Config, client.Options{Scheme: allkinds.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return server, c
}
