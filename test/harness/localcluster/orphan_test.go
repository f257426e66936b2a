//go:build unix && e2e

package localcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// helperEnv makes this test binary one of the programs below instead of running tests.
const helperEnv = "LOCALCLUSTER_TEST_HELPER"

// helpers are the programs by name.
var helpers = map[string]func() error{"cluster": helpCluster, "watchdog": helpWatchdog}

func TestMain(m *testing.M) {
	program, ok := helpers[os.Getenv(helperEnv)]
	if !ok {
		os.Exit(m.Run())
	}
	helper(program)
}

// helper executes its commands and then waits to be killed.
func helper(setup func() error) {
	if err := setup(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

func helpCluster() error {
	c, err := StartControlPlane(context.Background(), Options{Name: "orphan"})
	if err == nil {
		fmt.Println(c.dir, c.ports[0].address(), c.ports[1].address())
	}
	return err
}

func helpWatchdog() error {
	cmd := exec.Command("sleep", "600")
	cmd.Stdout = os.Stdout // held open until it ends
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err := watchdog(cmd.Process.Pid, true)
	fmt.Println("started")
	return err
}

// startHelper starts this binary as a helper and returns it with its first line and the rest of its output.
func startHelper(t *testing.T, name string) (*exec.Cmd, string, io.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"="+name)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	out := bufio.NewReader(pipe)
	first, err := out.ReadString('\n')
	if err != nil {
		t.Fatalf("helper %s: %v", name, err)
	}
	return cmd, strings.TrimSpace(first), out
}

func TestKilledParentLeavesNothing(t *testing.T) {
	// A separate temporary directory: other tests' clusters must not sweep first. The programs are located before,
	// because the cache directory can be below it.
	t.Setenv("TMPDIR", t.TempDir())
	helper, line, _ := startHelper(t, "cluster")
	fields := strings.Fields(line)
	if len(fields) != 3 {
		t.Fatalf("unexpected line %q", line)
	}
	for _, address := range fields[1:] {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("before the kill: %v", err)
		}
		_ = connection.Close()
	}
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	for _, address := range fields[1:] {
		await.NoError(t, "the end of what served "+address, func() error {
			connection, err := net.Dial("tcp", address)
			if errors.Is(err, syscall.ECONNREFUSED) {
				return nil
			}
			if err == nil {
				_ = connection.Close()
			}
			return fmt.Errorf("it is still served after its parent was killed (%w)", err)
		})
	}
	await.NoError(t, "the directory to be swept", func() error {
		sweep() // the lock can outlive the children for a moment: it ends with the last thread of the killed process
		if _, err := os.Stat(fields[0]); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there: %w", fields[0], err)
		}
		return nil
	})
}

func TestSweepKeepsWhatIsInUse(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir, unlock, err := newDir("used")
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(os.TempDir(), dirPrefix+"without-lock")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	sweep()
	for _, path := range []string{dir, foreign} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("swept although in use: %v", err)
		}
	}
	unlock()
	sweep()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not swept although unused: %v", err)
	}
}

func TestWatchdogEndsAnOrphan(t *testing.T) {
	helper, _, out := startHelper(t, "watchdog")
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		// Ends when the sleeping process, the last holder of the pipe, has ended.
		_, _ = io.Copy(io.Discard, out)
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("the watchdog did not end the orphan")
	}
}

func TestReleasedWatchdogEndsNothing(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	release, err := watchdog(cmd.Process.Pid, true)
	if err != nil {
		t.Fatal(err)
	}
	release()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("ended with %v, want SIGTERM from this test and not SIGKILL from the watchdog", err)
	}
}

func TestMergeArgs(t *testing.T) {
	got := mergeArgs([]string{"--a=1", "--b=2"}, []string{"--b=3", "--c=4", "--c=5"})
	if want := "--a=1 --b=3 --c=4 --c=5"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
