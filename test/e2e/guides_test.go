//go:build e2e

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/codeconnect/vmgroup-operator/test/e2e/pages"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/clone"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

var guides = flag.String("guides", ".", "regular expression: run only the how-to guides whose path below docs matches, and those that install and uninstall the operator")

// pageTimeout ends a page with a command that waits for ever.
const pageTimeout = 15 * time.Minute

// accountOfPages is the operator's account, as the tutorial creates it.
const accountOfPages = "vmgroups@vsphere.local"

// tutorialAndGuidesRun runs the code blocks of the tutorial and the how-to guides by the table in test/e2e/pages, in a clone of the tree, with kubectl, Helm and
// govc, against a vCenter of their own. The tutorial installs the operator on the hub, which is also the member.
func tutorialAndGuidesRun(t *testing.T) {
	dir := filepath.Join(world.dir, "pages")
	must(t, clone.Commit(t.Context(), world.root, dir))
	reader := newReader(t, dir)
	selected := regexp.MustCompile(*guides)
	report := reader.apart(t, selected)
	for _, page := range pages.Table {
		stands := strings.HasPrefix(page.Name, "tutorial/") || page.Name == "how-to/uninstall.md"
		if page.Apart || !stands && !selected.MatchString(page.Name) {
			continue
		}
		if page.Section != "" && t.Failed() {
			t.FailNow() // a page that failed left objects that the removal does not expect
		}
		began := time.Now()
		if page.Section != "" {
			world.uninstalled = append(world.uninstalled, began)
		}
		// The other pages do not need each other.
		if !t.Run(page.Name+strings.ReplaceAll(page.Section, "## ", ": "), func(t *testing.T) { reader.run(t.Context(), page, dir).check(t) }) && stands {
			t.FailNow()
		}
		if page.Section != "" {
			world.gone = append(world.gone, time.Now())
		}
	}
	report()
}

// apart starts the selected pages that run beside the others, and returns a function that reports how they ended. The end of the test ends them too.
func (r *reader) apart(t *testing.T, selected *regexp.Regexp) func() {
	ended := map[string]chan outcome{}
	for i, page := range pages.Table {
		if !page.Apart || !selected.MatchString(page.Name) {
			continue
		}
		dir := filepath.Join(world.dir, fmt.Sprintf("pages-%d", i))
		must(t, clone.Commit(t.Context(), world.root, dir))
		end := make(chan outcome, 1)
		ended[page.Name] = end
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		t.Cleanup(func() { cancel(); <-done })
		go func() {
			defer close(done)
			end <- r.run(ctx, page, dir)
		}()
	}
	return func() {
		for name, end := range ended {
			t.Run(name, func(t *testing.T) { (<-end).check(t) })
		}
	}
}

// reader is a person who follows the pages.
type reader struct {
	// programs is the directory of programs that record failures, and dry the one of programs that change nothing in the cluster.
	programs, dry string
	environment   []string
}

// outcome is how the commands of a page ended.
type outcome struct {
	page   pages.Page
	output string
	// failed are the commands that failed: a shell does not end at each.
	failed string
	took   time.Duration
	err    error
}

// run runs the blocks of a page in a clone of the tree.
func (r *reader) run(ctx context.Context, page pages.Page, tree string) (o outcome) {
	o.page = page
	began := time.Now()
	defer func() { o.took = time.Since(began) }()
	content, err := os.ReadFile(filepath.Join(tree, "docs", page.Name))
	if err != nil {
		o.err = err
		return o
	}
	script, err := page.Script(string(content))
	if err != nil {
		o.err = err
		return o
	}
	wrappers := r.programs
	if page.Dry {
		wrappers = r.dry
	}
	failed, err := os.CreateTemp(world.dir, "failed-")
	if err != nil {
		o.err = err
		return o
	}
	defer func() { _ = failed.Close() }()
	ctx, cancel := context.WithTimeoutCause(ctx, pageTimeout, fmt.Errorf("not within %s", pageTimeout))
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-c", pages.Prelude+script)
	command.Dir, command.WaitDelay = tree, 10*time.Second
	// The signal reaches the command for which the shell waits, so that the shell ends what it started.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.Env = slices.Concat(r.environment, []string{"WRAPPERS=" + wrappers, "FAILED=" + failed.Name()})
	var typed strings.Builder
	for _, line := range page.Types {
		typed.WriteString(os.Expand(line, r.value) + "\n")
	}
	command.Stdin = strings.NewReader(typed.String())
	out, err := command.CombinedOutput()
	world.heard(string(out))
	commands, readErr := io.ReadAll(failed)
	o.output, o.failed = string(out), string(commands)
	o.err = errors.Join(err, context.Cause(ctx), readErr)
	return o
}

// check compares an outcome with what the page promises.
func (o outcome) check(t *testing.T) {
	t.Helper()
	if o.err != nil || o.failed != "" || !strings.HasSuffix(strings.TrimSpace(o.output), pages.Done) {
		t.Fatalf("%v\nfailed commands:\n%s\noutput:\n%s", o.err, o.failed, tail(o.output, 12000))
	}
	for _, pattern := range o.page.Shows {
		if !regexp.MustCompile(pattern).MatchString(o.output) {
			t.Errorf("the commands print nothing that matches %s:\n%s", pattern, tail(o.output, 12000))
		}
	}
	fmt.Printf("e2e: %s %s took %s\n", o.page.Name, o.page.Section, o.took.Round(100*time.Millisecond))
}

func tail(text string, most int) string { return text[max(0, len(text)-most):] }

// value of a variable of the environment.
func (r *reader) value(name string) string {
	value := ""
	for _, variable := range r.environment {
		if rest, ok := strings.CutPrefix(variable, name+"="); ok {
			value = rest
		}
	}
	return value
}

// newReader starts a vCenter and a registry for the pages, and makes the programs of the reader.
func newReader(t *testing.T, tree string) *reader {
	t.Helper()
	dir := filepath.Join(world.dir, "reader")
	r := &reader{programs: filepath.Join(dir, "programs"), dry: filepath.Join(dir, "dry")}
	bare := filepath.Join(dir, "bare")
	for _, each := range []string{r.programs, r.dry, bare, filepath.Join(tree, "bin")} {
		must(t, os.MkdirAll(each, 0o700))
	}
	kubectl, err := assets.Kubectl(t.Context(), os.Stderr)
	must(t, err)
	programs := map[string]string{"kubectl": kubectl, "helm": world.helm.path, "manager": filepath.Join(world.dir, "manager-"+thisVersion)}
	for name, tool := range map[string]string{"govc": "govc", "jq": "gojq", "kustomize": "kustomize"} {
		programs[name], err = assets.Tool(t.Context(), tool, os.Stderr)
		must(t, err)
	}
	for _, name := range []string{"curl", "make", "openssl", "shasum"} {
		programs[name], err = exec.LookPath(name)
		must(t, err)
	}
	for name, path := range programs {
		must(t, os.Symlink(path, filepath.Join(bare, name)))
		must(t, os.WriteFile(filepath.Join(r.programs, name), []byte(wrapper(name, path, "")), 0o700))
		must(t, os.WriteFile(filepath.Join(r.dry, name), []byte(wrapper(name, path, dryRunOf[name])), 0o700))
	}
	must(t, os.Symlink(filepath.Join(r.programs, "manager"), filepath.Join(tree, "bin", "manager")))
	config := filepath.Join(dir, "kubeconfig")
	must(t, hubAsMember(config))
	r.environment = append(peoplesEnvironment(t), "KUBECONFIG="+config, "GOVMOMI_HOME="+dir, "TAG="+thisVersion, "VC_PASS="+stack.Password, "NODE="+world.hub.NodeAddress())
	r.environment = append(r.environment, "PATH="+bare+string(filepath.ListSeparator)+r.value("PATH"))
	r.environment = append(r.environment, startVCenterOfPages(t, dir)...)
	return r
}

// wrapper is a program that runs another one, and records its failure. dry are lines of a shell that replace the call of "$real". A check of a vCenter does not wait to
// count sessions again, and a program that is to be killed gets the signal itself. Exit code 141 is no failure: the next program of a pipe has read enough.
func wrapper(name, path, dry string) string {
	if dry == "" {
		dry = `"$real" "$@"`
	}
	return fmt.Sprintf(`#!/bin/bash
real=%[1]q
case " $* " in
*" port-forward "*) exec "$real" "$@" ;;
*" check vcenter "*) set -- "$@" --settle=0 ;;
esac
%[2]s
code=$?
if [ $code != 0 ] && [ $code != 141 ]; then printf '%%s: exit code %%d\n' "%[3]s ${*:1:4} …" $code >>"$FAILED"; fi
exit $code
`, path, dry, name)
}

// dryRunOf are the lines for programs that change the cluster. What is created can exist already, and what is waited for does not happen.
var dryRunOf = map[string]string{
	"kubectl": `set -o pipefail
verb=
if [ "$1" = vmgroup ]; then
` + dryPlugin + `
else
	for word in "$@"; do
		case "$word" in
		annotate | apply | create | delete | label | patch | scale | wait) verb=$word; break ;;
		get | logs | exec | events | auth | describe) break ;;
		esac
	done
fi
case "$verb" in
'') "$real" "$@" ;;
create) "$real" "$@" --dry-run=client --output=json | "$real" apply --dry-run=server --filename=- ;;
wait)
	words=()
	for word in "$@"; do
		case "$word" in wait) words+=(get) ;; --for=* | --timeout=*) ;; *) words+=("$word") ;; esac
	done
	"$real" "${words[@]}"
	;;
*) "$real" "$@" --dry-run=server ;;
esac`,
	"helm": `case "$1" in
install | upgrade | rollback) "$real" "$@" --dry-run=server ;;
uninstall) "$real" "$@" --dry-run ;;
*) "$real" "$@" ;;
esac`,
}

// dryPlugin are lines of a shell that make a dry run of the verb of kubectl vmgroup in "$@". They refuse other commands of it that change a cluster.
const dryPlugin = `	case "$2 ${3-}" in
	pause\ * | resume\ * | confirm\ * | keep\ * | forget\ * | adopt\ * | allow\ * | accept\ *) set -- "$@" --dry-run=server ;;
	rollout\ pause | rollout\ resume | rollout\ undo | rollout\ replace) set -- "$@" --dry-run=server ;;
	status\ * | get\ * | describe\ * | events\ * | plan\ * | rollout\ status | shards\ * | contexts\ * | member\ list | member\ check | vcenter\ list) ;;
	*) echo "kubectl vmgroup $2 ${3-} has no dry run" >&2; exit 1 ;;
	esac`

// hubAsMember writes a kubeconfig with the hub as its current context, and as context team-a.
func hubAsMember(file string) error {
	config, err := clientcmd.LoadFromFile(world.hub.cluster.KubeconfigFile)
	if err != nil {
		return err
	}
	config.Contexts["team-a"] = config.Contexts[config.CurrentContext].DeepCopy()
	return clientcmd.WriteToFile(*config, file)
}

// startVCenterOfPages starts a simulator with the names of the pages, behind a server with a certificate for the address that Pods reach. It returns the variables of
// the environment that describe it.
func startVCenterOfPages(t *testing.T, dir string) []string {
	t.Helper()
	simulator, err := sim.Start(sim.Options{
		Username: accountOfPages, Password: stack.Password, Templates: []string{}, Privileges: append(sim.AdoptionPrivileges, sim.OperatorPrivileges...),
	})
	must(t, err)
	t.Cleanup(simulator.Close)
	person, err := sim.NewOperator(t.Context(), simulator.URL, sim.AdminUsername, sim.AdminPassword)
	must(t, err)
	t.Cleanup(person.Close)
	const folder = "/DC0/vm/templates"
	must(t, person.CreateFolders(t.Context(), folder))
	ready, writes := sim.GuestWrites("guestinfo.ready", 0, "done")
	for _, name := range []string{"debian-12", "windows-2022", template} {
		must(t, person.AddTemplate(t.Context(), folder, name))
		must(t, person.SetTemplate(t.Context(), folder+"/"+name, map[string]string{sim.GuestBoot: "0s", ready: writes}))
	}
	must(t, person.RenameDatacenter(t.Context(), "/DC0", "DC1"))

	certificate, authority := selfSigned(t, world.hub.HostAddress())
	target, err := url.Parse(simulator.URL)
	must(t, err)
	front, err := faultproxy.New(faultproxy.Options{
		Target: target, Listen: world.hub.HostAddress() + ":0", TLS: &tls.Config{Certificates: []tls.Certificate{certificate}},
	})
	must(t, err)
	t.Cleanup(front.Close)
	file := filepath.Join(dir, "authority.pem")
	must(t, os.WriteFile(file, authority, 0o600))
	host := strings.TrimPrefix(front.URL, "https://")
	environment := []string{
		"VCENTER=" + host, "THUMBPRINT=" + thumbprint(t, host), "GOVC_URL=" + front.URL, "GOVC_USERNAME=" + sim.AdminUsername,
		"GOVC_PASSWORD=" + sim.AdminPassword, "GOVC_TLS_CA_CERTS=" + file, "GOVMOMI_HOME=" + dir,
	}
	govc, err := assets.Tool(t.Context(), "govc", os.Stderr)
	must(t, err)
	rename := exec.CommandContext(t.Context(), govc, "object.rename", "/DC1/host/DC0_C0", "Cluster1")
	rename.Env = append(os.Environ(), environment...)
	out, err := rename.CombinedOutput()
	if err != nil {
		t.Fatalf("rename the cluster: %v: %s", err, out)
	}
	return environment
}

// selfSigned makes a certificate for an address that is its own authority.
func selfSigned(t *testing.T, address string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	content := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "vCenter of the pages"}, IPAddresses: []net.IP{net.ParseIP(address)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, content, content, &key.PublicKey, key)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}
