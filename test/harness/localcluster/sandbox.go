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

// sandbox is where a node lives: namespaces of its own for processes, mounts and the network. Its first process does
// nothing but hold them. When that ends, for example because the process that started it was killed, the kernel ends
// every process inside, and with the last one go all mounts, the network and its link. So nothing that kubelet, containerd,
// CNI or kube-proxy do touches this machine, and nothing of it can be left behind but control groups and files.
type sandbox struct {
	init *process
	// dir holds what would be in /var/lib and /var/log of a node.
	dir string
}

// initScript sets up the mounts, says so with a file, and holds the namespaces. It ignores SIGCHLD, so that the kernel
// takes orphans away.
//
//   - /run is new: sockets and locks of a container runtime on this machine are not met, and are not made there.
//   - What is on the machine's root file system can only be read.
//   - /var/lib and /var/log are directories of the sandbox, so that kubelet, containerd and CNI can use their usual
//     paths, which are short enough for sockets.
//   - kubelet insists on a few settings of the kernel, which belong to the whole machine. It is shown files that have the
//     values it wants, and changes nothing.
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

// stop ends every process inside and waits until they are gone. Mounts and network go with them.
func (s *sandbox) stop() { s.init.kill() }

// pid is the number of the first process on this machine, 0 when it has ended.
func (s *sandbox) pid() int {
	if r := s.init.current(); r != nil {
		return r.pid
	}
	return 0
}

// path is how this machine reaches a file of the sandbox's mounts.
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

// process is a program that runs inside. Its log file is beside the sandbox's files.
func (s *sandbox) process(path string, args, env []string) *process {
	name := filepath.Base(path)
	env = append(env, "TMPDIR="+filepath.Join(s.dir, "tmp"))
	return &process{name: name, path: path, args: args, env: env, log: filepath.Join(s.dir, name+".log"), enter: s.enter}
}

// command runs a program inside and returns what it printed, to both outputs. It is killed when ctx ends.
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

// tool runs a program of this machine and returns what it printed.
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
