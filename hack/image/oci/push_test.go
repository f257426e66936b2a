package oci_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// serveRegistry starts a registry on loopback that requires a user and password, and returns its address.
func serveRegistry(t *testing.T) string {
	t.Helper()
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "robot" || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// logIn creates a Docker configuration with the password for a registry.
func logIn(t *testing.T, address string) {
	t.Helper()
	dir := t.TempDir()
	auth := base64.StdEncoding.EncodeToString([]byte("robot:secret"))
	config := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, address, auth)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_CONFIG", dir)
}

func TestPushedImageHasTheSameDigest(t *testing.T) {
	made := bundle(t, "hello:v1", twoImages(t)...)

	address := serveRegistry(t)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	if _, err := made.Push(t.Context(), address+"/team/hello"); err == nil || !strings.Contains(err.Error(), "401") {
		t.Fatalf("error %v without a password, want 401", err)
	}
	logIn(t, address)
	for _, to := range []struct{ reference, tag string }{{"/team/hello", "v1"}, {"/team/hello:other", "other"}} {
		pushed, err := made.Push(t.Context(), address+to.reference)
		if err != nil {
			t.Fatal(err)
		}
		if want := address + "/team/hello@" + made.Digest(); pushed != want {
			t.Errorf("pushed %s, want %s", pushed, want)
		}
		tag, err := name.NewTag(address + "/team/hello:" + to.tag)
		if err != nil {
			t.Fatal(err)
		}
		index, err := remote.Index(tag, remote.WithAuthFromKeychain(authn.DefaultKeychain))
		if err != nil {
			t.Fatal(err)
		}
		digest, err := index.Digest()
		if err != nil || digest.String() != made.Digest() {
			t.Errorf("%s is %s (%v), want %s", tag, digest, err, made.Digest())
		}
	}
	if _, err := made.Push(t.Context(), address+"/Team"); err == nil || !strings.Contains(err.Error(), "where to push") {
		t.Errorf("error %v of an impossible name", err)
	}
}
