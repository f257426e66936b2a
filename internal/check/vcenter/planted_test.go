//go:build !fast

package vcenter_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/admission/trust/trusttest"
	"github.com/codeconnect/vmgroup-operator/internal/check/vcenter"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	template     = "/DC0/vm/vm-operator-template"
	withinBudget = 5 * time.Minute
	settle       = 3 * time.Minute
)

// TestMain keeps the simulator's own log out of the tests' output.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// rig is a healthy simulator, and a check of it in virtual time.
type rig struct {
	*testing.T
	sim      *sim.Simulator
	person   *sim.Operator
	options  govmomi.SurveyOptions
	settings vcenter.Settings
	// transport changes the messages between the check and the simulator.
	transport func(http.RoundTripper) http.RoundTripper
	// beside runs concurrently with the check, in the same virtual time.
	beside func(ctx context.Context)
	// authority signs the certificate, and trusts is the trusted one; ends is the remaining validity of the certificate.
	trusts bool
	ends   time.Duration
}

func newRig(t *testing.T, o sim.Options) *rig {
	t.Helper()
	s, err := sim.Start(o)
	must(t, err)
	t.Cleanup(s.Close)
	person, err := s.Operator(t.Context())
	must(t, err)
	t.Cleanup(person.Close)
	s.ShowDRS(true, "fullyAutomated")
	r := &rig{T: t, sim: s, person: person, trusts: true, ends: 365 * 24 * time.Hour}
	r.options.Settle = settle
	r.options.Session = session.Config{URL: "https://" + trusttest.Name, Username: s.Username(), Password: s.Password(), UserAgent: "check"}
	r.options.Session.Identity = session.Identity{Installation: "installation", VCenter: "vc", Process: &session.Process{Boot: "boot"}}
	return r
}

// check runs the check and returns its findings, and its duration in virtual time.
func (r *rig) check() (facts *survey.Facts, found []vcenter.Finding, took time.Duration) {
	r.Helper()
	synctest.Test(r.T, func(t *testing.T) { facts, found, took = r.checkNow(t) })
	return facts, found, took
}

// checkNow is check within a bubble.
func (r *rig) checkNow(t *testing.T) (*survey.Facts, []vcenter.Finding, time.Duration) {
	t.Helper()
	o := r.options
	o.Session.Transport = r.sim.Transport()
	if r.transport != nil {
		o.Session.Transport = r.transport(o.Session.Transport)
	}
	begin := time.Now().Add(-time.Hour)
	authority := trusttest.NewAuthority(t, begin, begin.Add(10*r.ends))
	pair, err := tls.X509KeyPair(authority.Issue(t, begin, time.Now().Add(r.ends)))
	must(t, err)
	o.Dialer = pipes{pair}
	o.Session.TLS.CABundle = authority.PEM
	if !r.trusts {
		o.Session.TLS.CABundle = trusttest.NewAuthority(t, begin, begin.Add(10*r.ends)).PEM
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if r.beside != nil {
		go r.beside(ctx)
	}
	began := time.Now()
	facts := govmomi.Survey(ctx, o)
	took := time.Since(began)
	return facts, vcenter.Judge(facts, r.settings), took
}

// pipes are connections to a server that makes only handshakes.
type pipes struct{ pair tls.Certificate }

func (p pipes) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	outside, inside := net.Pipe()
	go func() {
		defer func() { _ = inside.Close() }()
		_ = tls.Server(inside, &tls.Config{Certificates: []tls.Certificate{p.pair}, MinVersion: tls.VersionTLS12}).HandshakeContext(ctx)
	}()
	return outside, nil
}

// trip is a transport.
type trip func(*http.Request) (*http.Response, error)

func (t trip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func without(privilege string) sim.Options {
	return sim.Options{Privileges: slices.DeleteFunc(slices.Clone(sim.OperatorPrivileges), func(p string) bool { return p == privilege })}
}

// wrong are the findings that are not ok.
func wrong(found []vcenter.Finding) []vcenter.Finding {
	return slices.DeleteFunc(slices.Clone(found), func(f vcenter.Finding) bool { return f.Level == vcenter.OK })
}

func table(t *testing.T, found []vcenter.Finding) string {
	t.Helper()
	out := &bytes.Buffer{}
	must(t, vcenter.Print(out, found, 120))
	return out.String()
}

func TestNothingIsWrongWithAHealthySimulator(t *testing.T) {
	for _, probe := range []bool{false, true} {
		r := newRig(t, sim.Options{CloneDelay: 2 * time.Second})
		must(t, r.person.SetTemplate(t.Context(), template, map[string]string{sim.GuestBoot: "2s"}))
		r.options.Probe = probe
		_, found, took := r.check()
		if bad := wrong(found); len(bad) > 0 || took > withinBudget {
			t.Errorf("with a probe %t, after %s:\n%s", probe, took, table(t, found))
		}
		if !slices.ContainsFunc(found, func(f vcenter.Finding) bool {
			return strings.Contains(f.Says, "If a VmGroup sets disk sizes, it also needs "+vsphere.PrivilegeDisks)
		}) {
			t.Errorf("the privilege for disk sizes is not named:\n%s", table(t, found))
		}
		if want := 8; !probe && len(found) != want {
			t.Errorf("%d lines, want one for each step that was made:\n%s", len(found), table(t, found))
		}
	}
}

// planted is a fault and the expected report of the check.
type planted struct {
	fault   string
	options sim.Options
	plant   func(r *rig)
	id      string
	level   vcenter.Level
	// says is part of the sentence, and fix part of the remedy or the command.
	says, fix string
}

var faults = []planted{
	{"V2: the account cannot add a disk", without("VirtualMachine.Config.AddNewDisk"), nil,
		"privileges-missing", vcenter.Fail, "VirtualMachine.Config.AddNewDisk", "govc role.update -a VmGroupOperator VirtualMachine.Config.AddNewDisk"},
	{"V3: vCenter refuses the version of the API", sim.Options{}, func(r *rig) { r.transport = refuseVersion },
		"version-refused", vcenter.Fail, "API version", "curl -k"},
	{"V4: a client opens sessions and never ends them", sim.Options{}, func(r *rig) { r.beside = r.openSessions },
		"sessions-grow", vcenter.Warn, "after 3m0s", "govc session.ls"},
	{"V5: the account has nothing on the root object", sim.Options{NoRootPermission: true}, nil,
		"root-read", vcenter.Fail, "root object", "govc permissions.set -principal user -role ReadOnly -propagate=false /"},
	{"V6: the template came from an OVA", sim.Options{}, func(r *rig) {
		must(r.T, r.person.FromOVA(r.Context(), template, map[string]string{"hostname": "x"}))
	}, "privileges-missing", vcenter.Warn, "VApp.ApplicationConfig", "role.update"},
	{"V8: the template has four cores per socket", sim.Options{}, func(r *rig) { must(r.T, r.person.SetSockets(r.Context(), template, 4, 4)) },
		"cores-per-socket", vcenter.Warn, "vm-operator-template", "Cores per Socket"},
	{"V9: the switch of the network is hidden", sim.Options{}, func(r *rig) {
		r.options.Network, r.settings.Network = "DC0_DVPG0", true
		must(r.T, r.sim.HideNamed("DVS0"))
	}, "switch-hidden", vcenter.Fail, "DC0_DVPG0", "role Read-only on the switch"},
	{"V10: the cluster of the resource pool is hidden", sim.Options{}, func(r *rig) { must(r.T, r.sim.HideNamed("DC0_C0")) },
		"unseen-parent", vcenter.Warn, "ClusterComputeResource:", "-role ReadOnly"},
	{"V11: the template has a virtual TPM", sim.Options{}, func(r *rig) { must(r.T, r.person.AddTPM(r.Context(), template)) },
		"privileges-missing", vcenter.Fail, "Cryptographer.Clone", "role.update"},
	{"V11: the template has a MAC address that a person set", sim.Options{}, func(r *rig) { must(r.T, r.person.SetMAC(r.Context(), template, "00:50:56:00:00:01")) },
		"manual-mac", vcenter.Fail, "vm-operator-template", "automatic"},
	{"V12: the settings name a datastore cluster", sim.Options{}, func(r *rig) {
		r.options.Datastore = "gold"
		must(r.T, r.person.CreateStoragePod(r.Context(), "gold"))
	}, "datastore-cluster", vcenter.Fail, "datastore cluster", "govc find / -type s"},
	{"V13: the cluster does not reach the template", sim.Options{}, func(r *rig) {
		pool, err := r.person.AddCluster(r.Context(), "Other", "Other-DS", r.TempDir())
		must(r.T, err)
		r.options.ResourcePool = pool
	}, "template-out-of-reach", vcenter.Fail, "vm-operator-template", "Move the template"},
	{"V14: DRS is off", sim.Options{}, func(r *rig) { r.sim.ShowDRS(false, "") },
		"drs-off", vcenter.Warn, "DC0_C0", "govc cluster.change -drs-enabled -drs-mode fullyAutomated /DC0/host/DC0_C0"},
	{"V16: the account does not see sessions", without("Sessions.TerminateSession"), nil,
		"privileges-missing", vcenter.Warn, "Sessions.TerminateSession", "VmGroupOperatorSessions"},
	{"step 1: another authority has signed the certificate", sim.Options{}, func(r *rig) { r.trusts = false },
		"certificate-refused", vcenter.Fail, "SHA-256", "--thumbprint"},
	{"step 1: the certificate ends in ten days", sim.Options{}, func(r *rig) { r.ends = 10 * 24 * time.Hour },
		"certificate-ends", vcenter.Warn, "2000-01-11", "Renew"},
	{"step 3: the password is wrong", sim.Options{}, func(r *rig) { r.options.Session.Password = "wrong" },
		"login-rejected", vcenter.Fail, "does not try them again", "unlock"},
	{"step 3: vCenter's clock is twenty minutes ahead", sim.Options{}, func(r *rig) { r.transport = clockAhead },
		"clock", vcenter.Fail, "20m0s", "NTP"},
	{"step 5: the datastore is full", sim.Options{}, func(r *rig) { r.sim.FillDatastores(1 << 20) },
		"datastore-full", vcenter.Fail, "LocalDS_0", "govc datastore.info"},
	{"step 5: the datastore is in maintenance mode", sim.Options{}, func(r *rig) { r.sim.MaintainDatastores() },
		"datastore-maintenance", vcenter.Fail, "LocalDS_0", "Exit"},
	{"step 5: a host lacks the network", sim.Options{}, func(r *rig) { r.sim.LeaveNetworksToOneHost() },
		"network-not-on-all-hosts", vcenter.Warn, "VM Network", "Connect all hosts"},
	{"step 7: no VmGroup uses some folders", sim.Options{}, func(r *rig) {
		must(r.T, r.person.CreateFolders(r.Context(), "/DC0/vm/vm-operator/team-a/shop"))
		must(r.T, r.person.CreateFolders(r.Context(), "/DC0/vm/vm-operator/team-b"))
	}, "empty-folders", vcenter.OK, "3 folders below the root folder contain no VM, in these: /DC0/vm/vm-operator/team-a, /DC0/vm/vm-operator/team-b.", "you can delete those"},
}

func TestTheCheckFindsEachPlantedFaultWithinFiveMinutes(t *testing.T) {
	for _, c := range faults {
		t.Run(c.fault, func(t *testing.T) {
			r := newRig(t, c.options)
			if c.plant != nil {
				c.plant(r)
			}
			_, found, took := r.check()
			if took > withinBudget {
				t.Errorf("it took %s", took)
			}
			matches := func(f vcenter.Finding) bool {
				return f.ID == c.id && f.Level == c.level && strings.Contains(f.Says, c.says) && strings.Contains(f.Fix+" "+strings.Join(f.Command, " "), c.fix)
			}
			if !slices.ContainsFunc(found, matches) {
				t.Errorf("no %s %s that says %q and %q:\n%s", c.level, c.id, c.says, c.fix, table(t, found))
			}
			for _, f := range wrong(found) {
				if f.Says == "" || f.Fix == "" {
					t.Errorf("%s says %q, and to do is %q", f.ID, f.Says, f.Fix)
				}
			}
		})
	}
}

func TestARejectedPasswordIsSentOnce(t *testing.T) {
	r := newRig(t, sim.Options{Password: "right"})
	r.options.Session.Password = "wrong"
	r.options.Probe = true
	_, found, _ := r.check()
	if rejected, _ := r.sim.RejectedLogins(); rejected != 1 || vcenter.Worst(found) != vcenter.Fail {
		t.Errorf("%d logins were rejected:\n%s", rejected, table(t, found))
	}
}

// refuseVersion has the server refuse requests that name a version of the API.
func refuseVersion(next http.RoundTripper) http.RoundTripper {
	return trip(func(req *http.Request) (*http.Response, error) {
		if !strings.HasPrefix(req.Header.Get("SOAPAction"), "urn:vim25/") {
			return next.RoundTrip(req)
		}
		return &http.Response{
			StatusCode: http.StatusInternalServerError, Status: "500 Internal Server Error", Request: req, Header: http.Header{},
			Body: io.NopCloser(strings.NewReader(`<Envelope><Body><Fault><faultcode>vim:VersionMismatchFaultCode</faultcode></Fault></Body></Envelope>`)),
		}, nil
	})
}

var answeredTime = regexp.MustCompile(`(<returnval[^>]*>)([^<]+)(</returnval>)`)

// clockAhead moves the server's clock.
func clockAhead(next http.RoundTripper) http.RoundTripper {
	return trip(func(req *http.Request) (*http.Response, error) {
		if req.Body == nil {
			return next.RoundTrip(req)
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		res, err := next.RoundTrip(req)
		if err != nil || !bytes.Contains(body, []byte("<CurrentTime ")) {
			return res, err
		}
		answer, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		answer = answeredTime.ReplaceAllFunc(answer, func(found []byte) []byte {
			parts := answeredTime.FindSubmatch(found)
			at, err := time.Parse(time.RFC3339Nano, string(parts[2]))
			if err != nil {
				return found
			}
			return fmt.Appendf(nil, "%s%s%s", parts[1], at.Add(20*time.Minute).Format(time.RFC3339Nano), parts[3])
		})
		res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(answer)), int64(len(answer))
		return res, nil
	})
}

// openSessions logs in every ten seconds and never logs out.
func (r *rig) openSessions(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Second):
		}
		other := r.options.Session
		other.Transport, other.Identity = r.sim.Transport(), session.Identity{}
		_, _ = session.Open(ctx, other)
	}
}

// TestAnObjectThatTheAccountMayNotAskAboutHidesNoOther: if vCenter refuses access to one object, it refuses the whole
// call.
func TestAnObjectThatTheAccountMayNotAskAboutHidesNoOther(t *testing.T) {
	r := newRig(t, without("Folder.Delete"))
	pool := r.sim.Inventory("ResourcePool")[0].Ref
	r.transport = func(next http.RoundTripper) http.RoundTripper {
		return trip(func(req *http.Request) (*http.Response, error) {
			if req.Body == nil {
				return next.RoundTrip(req)
			}
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			req.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte("<FetchUserPrivilegeOnEntities ")) && bytes.Contains(body, []byte(">"+pool+"<")) {
				return &http.Response{
					StatusCode: http.StatusInternalServerError, Status: "500 Internal Server Error", Request: req, Header: http.Header{},
					Body: io.NopCloser(strings.NewReader(`<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>` +
						`<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring></faultstring><detail><NoPermissionFault xmlns="urn:vim25" xsi:type="NoPermission"><object type="ResourcePool">` +
						pool + `</object><privilegeId>System.View</privilegeId></NoPermissionFault></detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>`)),
				}, nil
			}
			return next.RoundTrip(req)
		})
	}
	_, found, _ := r.check()
	for _, privilege := range []string{"Folder.Delete", "Resource.AssignVMToPool"} {
		if !slices.ContainsFunc(found, func(f vcenter.Finding) bool { return slices.Contains(f.Privileges, privilege) }) {
			t.Errorf("no finding about missing privilege %s:\n%s", privilege, table(t, found))
		}
	}
	if len(wrong(found)) != 2 {
		t.Errorf("it finds more:\n%s", table(t, found))
	}
}
