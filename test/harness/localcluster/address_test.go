//go:build unix && e2e

package localcluster

import (
	"runtime"
	"strings"
	"testing"
)

func TestControlPlaneListensWhereItIsTold(t *testing.T) {
	address := "127.0.0.2"
	if runtime.GOOS != "linux" {
		address = loopback // the only one without setup
	}
	c, err := StartControlPlane(t.Context(), Options{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if !strings.HasPrefix(c.Config.Host, "https://"+address+":") {
		t.Errorf("it is called at %s", c.Config.Host)
	}
	if !strings.Contains(string(c.Kubeconfig()), c.Config.Host) {
		t.Error("the kubeconfig has another address")
	}
}
