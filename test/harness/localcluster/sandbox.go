//go:build unix

package localcluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// sandbox is the environment of a node: separate namespaces for processes, mounts and the network. Its first process only holds the
// namespaces. When that process ends, for example because its parent was killed, the kernel ends every process inside. With the last
// process, all mounts, the network and its link disappear. So kubelet, containerd, CNI and kube-proxy do not affect this machine, and leave
// nothing behind but control groups and files.
type sandbox struct {
	init *process
	// dir contains the node's /var/lib and /var/log.
	dir string
}

// initScript sets up the mounts, reports that with a file, and holds the namespaces. It ignores SIGCHLD, so that the kernel
// removes orphans.
//
//   - /run is new, so that sockets and locks of this machine's container runtime are neither used nor created.
//   - The machine's root file system is read-only.
//   - /var/lib and /var/log are directories of the sandbox, so that kubelet, containerd and CNI can use their usual
//     paths, which are short enough for sockets.
//   - kubelet requires a few kernel settings, which belong to the whole machine. It sees files with the
//     required values, and changes nothing.
const initScript = `set -e
dir=$1
mount -n --make-rprivate /
mount -n --make-rshared /
mount -n -t proc proc /proc
mount -n -t tmpfs -o mode=755 tmpfs /run
mkdir -p "$dir/lib" "$dir/log" "$dir/tmp" "$dir/sysctl"
mount --bind "$dir" "$dir"
mount -o remount,bind,ro /
setting() {
	file="$dir/sysctl/${1##*/}"
	echo "$2" >"$file"
	if [ -e "/proc/sys/$1" ]; then mount --bind "$file" "/proc/sys/$1"; fi
}
setting vm/overcommit_memory 1
setting vm/panic_on_oom 0
setting kernel/panic 10
setting kernel/panic_on_oops 1
setting kernel/keys/root_maxkeys 1000000
setting kernel/keys/root_maxbytes 25000000
echo 1 >/proc/sys/net/ipv4/ip_forward
mount --bind "$dir/lib" /var/lib
mount --bind "$dir/log" /var/log
trap '' CHLD
: >"$dir/ready"
exec sleep infinity
`

// startSandbox makes the namespaces. They end with the sandbox's stop, and with this process.
func startSandbox(ctx context.Context, dir string) (*sandbox, error) {
	s := &sandbox{dir: dir, init: &process{
		name: "the node's namespaces", path: "/bin/sh", args: []string{"-c", initScript, "init", dir},
		log: filepath.Join(dir, "init.log"), attr: newNamespaces,
	}}
	if err := s.init.start(); err != nil {
		return nil, err
	}
	err := s.init.waitUntil(ctx, func(context.Context) error {
		_, err := os.Stat(filepath.Join(dir, "ready"))
		return err
	})
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// stop kills every process inside and waits for their end. Mounts and network end with them.
func (s *sandbox) stop() { s.init.kill() }

// pid returns the number of the first process on this machine, or 0 after its end.
func (s *sandbox) pid() int {
	if r := s.init.current(); r != nil {
		return r.pid
	}
	return 0
}

// path returns this machine's path of a file in the sandbox's mounts.
func (s *sandbox) path(inside string) string {
	return filepath.Join("/proc", strconv.Itoa(s.pid()), "root", inside)
}

// enter moves the current thread into the namespaces. The thread cannot be used for anything else afterwards.
func (s *sandbox) enter() error {
	pid := s.pid()
	if pid == 0 {
		return errors.New("the node's namespaces have ended")
	}
	return enterNamespaces(pid)
}

// process returns a program that runs inside. Its log file is beside the sandbox's files.
func (s *sandbox) process(path string, args, env []string) *process {
	name := filepath.Base(path)
	env = append(env, "TMPDIR="+filepath.Join(s.dir, "tmp"))
	return &process{name: name, path: path, args: args, env: env, log: filepath.Join(s.dir, name+".log"), enter: s.enter}
}

// command runs a program inside and returns the combined output. It is killed when ctx ends.
func (s *sandbox) command(ctx context.Context, stdin io.Reader, name string, args ...string) ([]byte, error) {
	type result struct {
		out []byte
		err error
	}
	done := make(chan result, 1)
	go onOwnThread(func() {
		if err := s.enter(); err != nil {
			done <- result{err: err}
			return
		}
		out, err := combined(ctx, stdin, name, args...)
		done <- result{out, err}
	})
	r := <-done
	return r.out, r.err
}

// tool runs a program of this machine and returns its output.
func tool(ctx context.Context, name string, args ...string) ([]byte, error) {
	return combined(ctx, nil, name, args...)
}

func combined(ctx context.Context, stdin io.Reader, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environment(), stdin, &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err := cmd.Run()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return bytes.TrimSpace(out.Bytes()), err
}
