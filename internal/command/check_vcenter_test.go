package command

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAServerThatDoesNotAnswerHasAnExitCodeOfItsOwn(t *testing.T) {
	t.Setenv("VC_USER", "user")
	t.Setenv("VC_PASS", "secret")
	synctest.Test(t, func(t *testing.T) {
		o := vcenterCheck{output: "json", timeout: time.Minute, settle: 0, probeTime: time.Minute, serverFlags: serverFlags{server: "vcenter.example.com"}}
		out := &bytes.Buffer{}
		run := vcenterRun{o: &o, transport: away{}}
		err := run.ofServer(t.Context(), out)
		if !errors.Is(err, errVCenterUnreachable) || ExitCode(err) != exitUnreachable {
			t.Errorf("%v:\n%s", err, out)
		}
		if !strings.Contains(out.String(), `"unreachable"`) || strings.Contains(out.String(), "example") {
			t.Errorf("the report is\n%s", out)
		}
	})
}

type away struct{}

func (away) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no route to host")
}

func TestWhatTheCheckOfAServerTakesFromFlagsAndFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("username=op@vsphere.local\npassword=a=b c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		env  bool
		err  error
	}{
		{[]string{}, true, errNameOrServer},
		{[]string{"default", "--server", "vc"}, true, errNameOrServer},
		{[]string{"default", "--network", "n"}, true, errNameOrServer},
		{[]string{"--server", "vc", "-o", "yaml"}, true, errOutput},
		{[]string{"--server", "vc", "--probe-time", "1h"}, true, errTimes},
		{[]string{"--server", "vc"}, false, errNoCredentials},
		{[]string{"--server", "http://vc"}, true, errPlainHTTP},
		{[]string{"--server", "127.0.0.1:1", "--settle", "0", "--credentials", file}, false, errVCenterUnreachable},
		{[]string{"--server", "127.0.0.1:1", "--settle", "0"}, true, errVCenterUnreachable},
	} {
		t.Setenv("VC_USER", map[bool]string{true: "user"}[c.env])
		t.Setenv("VC_PASS", map[bool]string{true: "pass"}[c.env])
		err := run(t.Context(), append([]string{"check", "vcenter"}, c.args...), &bytes.Buffer{})
		if !errors.Is(err, c.err) {
			t.Errorf("%v, with variables %t: %v, want %v", c.args, c.env, err, c.err)
		}
	}
	if user, password := credentialsIn("VC_USER=u\r\nVC_PASS=a=b c\r\n"); user != "u" || password != "a=b c" {
		t.Errorf("the file has %q and %q", user, password)
	}
}
