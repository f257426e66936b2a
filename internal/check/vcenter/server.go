package vcenter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
)

const (
	// endsSoon is the remaining validity below which a certificate is reported.
	endsSoon = 30 * 24 * time.Hour
	// skewWarns and skewFails are limits of clock skew. The operator requests only the events of the last ten minutes.
	skewWarns, skewFails = time.Minute, 10 * time.Minute
)

func unreachable(f *survey.Facts, _ Settings) []Finding {
	p := f.Server.Unreachable
	if p == nil {
		return nil
	}
	return []Finding{withProblem(Finding{
		ID: "unreachable", Level: Fail, Says: fmt.Sprintf("%s does not answer: %s", untrusted.Name(f.Server.Host), p.Text),
		Fix:     "Check the address, the firewall between here and there, and that vCenter's services run. From where the operator runs, this must print XML:",
		Command: command("curl", "-k", "https://"+f.Server.Host+"/sdk/vimServiceVersions.xml"),
	}, p)}
}

func fullOfSessions(f *survey.Facts, _ Settings) []Finding {
	if !f.Server.OutOfSessions {
		return nil
	}
	return []Finding{{
		ID: "out-of-sessions", Level: Fail, Says: "vCenter has no room for another session, of any client.",
		Fix: "End sessions that no client uses, and find the client that opens them:", Command: command("govc", "session.ls"),
	}}
}

func actionRefused(f *survey.Facts, _ Settings) []Finding {
	if f.Server.Versioned != survey.Refused {
		return nil
	}
	return []Finding{{
		ID: "version-refused", Level: Fail, Says: "vCenter refuses requests that name the API version of this operator.",
		Fix:     "Check that a vCenter 7.0 or later answers at this address and no proxy changes the header SOAPAction. Report this with -o json:",
		Command: command("curl", "-k", "https://"+f.Server.Host+"/sdk/vimServiceVersions.xml"),
	}}
}

func certificateRefused(f *survey.Facts, s Settings) []Finding {
	p := f.Server.Untrusted
	if p == nil {
		return nil
	}
	out := Finding{ID: "certificate-refused", Level: Fail, Says: "The certificate is not trusted: " + p.Text,
		Fix: "Set spec.tls.caBundle to the authority that signed it (vCenter serves it at /certs/download.zip)."}
	if c := f.Server.Certificate; c != nil {
		out.Says = fmt.Sprintf("%s. Its SHA-256 is %s", out.Says, c.SHA256)
		if f.Server.Certificate.Pinned {
			out.Fix = "If vCenter has a new certificate, set spec.tls.thumbprint to its thumbprint."
		}
		out.Fix += " Or pin this certificate, if vCenter's administrator confirms the thumbprint:"
		out.Command = pin(f, s, c.SHA256)
	}
	return []Finding{out}
}

func pin(f *survey.Facts, s Settings, sum string) []string {
	if s.VCenter == "" {
		return command("manager", "check", "vcenter", "--server", "https://"+f.Server.Host, "--thumbprint", sum)
	}
	if !untrusted.Plain(s.VCenter) {
		return nil
	}
	return []string{"kubectl", "patch", "vcenter", s.VCenter, "--type=merge", "-p", `'{"spec":{"tls":{"thumbprint":"` + sum + `"}}}'`}
}

func certificateEnds(f *survey.Facts, _ Settings) []Finding {
	c := f.Server.Certificate
	if c == nil || f.Server.Untrusted != nil || c.NotAfter.Sub(f.Began) > endsSoon {
		return nil
	}
	says := fmt.Sprintf("The certificate ends on %s.", c.NotAfter.UTC().Format(time.DateOnly))
	if c.NotAfter.Before(f.Began) {
		because := "it compares only the thumbprint"
		if c.Unchecked {
			because = "spec.tls.insecureSkipVerify is true"
		}
		says = fmt.Sprintf("The certificate expired on %s. The operator still accepts it, because %s.", c.NotAfter.UTC().Format(time.DateOnly), because)
	}
	return []Finding{{
		ID: "certificate-ends", Level: Warn, Says: says,
		Fix: "Renew it in the vSphere Client: Administration > Certificates > Certificate Management > Machine SSL Certificate > Renew. With a pin, set spec.tls.thumbprint anew.",
	}}
}

func unchecked(f *survey.Facts, _ Settings) []Finding {
	if c := f.Server.Certificate; c == nil || !c.Unchecked {
		return nil
	}
	return []Finding{{
		ID: "certificate-unchecked", Level: Warn, Says: "The certificate is not checked, so anybody on the network path can read the password.",
		Fix: "Set spec.tls.caBundle or spec.tls.thumbprint in place of insecureSkipVerify. The thumbprint is " + f.Server.Certificate.SHA256 + ".",
	}}
}

func plainHTTP(f *survey.Facts, _ Settings) []Finding {
	if !f.Server.PlainHTTP || f.Server.Local {
		return nil
	}
	return []Finding{{
		ID: "plain-http", Level: Warn, Says: "The password goes to another host over plain http.", Fix: "Set spec.server to https://<host>.",
	}}
}

func connectionSaid(f *survey.Facts, _ Settings) string {
	if f.Server.Versioned != survey.Accepted {
		return ""
	}
	said := untrusted.Name(f.Server.Host) + " answers"
	if c := f.Server.Certificate; c != nil {
		said += fmt.Sprintf(" over %s; its certificate ends on %s and has SHA-256 %s", c.TLSVersion, c.NotAfter.UTC().Format(time.DateOnly), c.SHA256)
	}
	return said + "."
}

func notVCenter(f *survey.Facts, _ Settings) []Finding {
	if a := f.Server.About; a == nil || a.VCenter {
		return nil
	}
	return []Finding{{
		ID: "no-vcenter", Level: Fail, Says: "The server is no vCenter. A single ESXi host cannot clone.", Fix: "Set spec.server to the vCenter that manages the host.",
	}}
}

// tooOld reports versions that the documentation does not list as supported.
func tooOld(f *survey.Facts, _ Settings) []Finding {
	a := f.Server.About
	if a == nil || !a.VCenter {
		return nil
	}
	// A server that is no vCenter can use any name and version. The version of its API determines its abilities.
	v, err := parseVersion(a.APIVersion)
	switch {
	case err != nil || !v.less(version{7, 0, 3}):
		return nil
	case v.less(version{7}):
		return []Finding{{ID: "version-too-old", Level: Fail, Says: fmt.Sprintf("vCenter with API %s is too old.", v), Fix: "Upgrade to vCenter 7.0 Update 3 or later."}}
	}
	return []Finding{{ID: "version-old", Level: Warn, Says: fmt.Sprintf("vCenter with API %s is older than 7.0 Update 3.", v), Fix: "Upgrade to vCenter 7.0 Update 3 or later."}}
}

func versionSaid(f *survey.Facts, _ Settings) string {
	if f.Server.About == nil {
		return ""
	}
	return fmt.Sprintf("vCenter %s, build %s, API %s.", plainVersion(f.Server.About.Version), plainVersion(f.Server.About.Build), plainVersion(f.Server.About.APIVersion))
}

func loginRefused(f *survey.Facts, s Settings) []Finding {
	if f.Login == nil || f.Login.Problem == nil {
		return nil
	}
	p := f.Login.Problem
	if p.Kind != vsphere.KindCredentials {
		out := Finding{ID: "login-failed", Level: Fail, Says: "The login failed: " + p.Text, Fix: "Correct what the message names, and run the check again."}
		return []Finding{withProblem(out, p)}
	}
	where := "user name and password"
	if s.Secret != "" {
		where = fmt.Sprintf("Secret %s in namespace %s", untrusted.Name(s.Secret), untrusted.Name(s.Namespace))
	}
	out := Finding{ID: "login-rejected", Level: Fail,
		Says: "vCenter rejected the user name or the password. The check does not try them again.",
		Fix: "Correct " + where + ". If they are right: unlock the account (vSphere Client: Administration > Single Sign On > Users and Groups), renew its password if it " +
			"has expired, and use a local account of vCenter's single sign-on, since a federated identity provider accepts no passwords from programs."}
	if f.Login.Held {
		out.ID, out.Says = "login-held", "Nothing was sent, because vCenter has rejected this user name and password before: "+p.Text
	}
	return []Finding{withProblem(out, p)}
}

func clock(f *survey.Facts, _ Settings) []Finding {
	if f.Login == nil || !f.Login.ClockRead {
		return nil
	}
	skew := f.Login.Skew.Abs().Round(time.Second)
	if skew < skewWarns {
		return nil
	}
	out := Finding{ID: "clock", Level: Warn, Says: fmt.Sprintf("vCenter's clock and the one here differ by %s.", skew),
		Fix: "Set the time of vCenter (its management page, port 5480: Time), or of this host, by NTP."}
	if skew >= skewFails {
		out.Level = Fail
		out.Says += " The operator finds no events of its VMs."
	}
	return []Finding{out}
}

func loginSaid(f *survey.Facts, _ Settings) string {
	if f.Login == nil || f.Login.Problem != nil {
		return ""
	}
	return fmt.Sprintf("Logged in once as %s; the clocks differ by %s.", untrusted.Name(f.Login.User), f.Login.Skew.Abs().Round(100*time.Millisecond))
}

// version is the version of a vCenter, such as 8.0.3.
type version []int

var errVersion = errors.New("that is no version")

func parseVersion(s string) (version, error) {
	var v version
	for part := range strings.SplitSeq(s, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil, errVersion
		}
		v = append(v, n)
	}
	return v, nil
}

func (v version) less(other version) bool {
	for i, n := range other {
		has := 0
		if i < len(v) {
			has = v[i]
		}
		if has != n {
			return has < n
		}
	}
	return false
}

func (v version) String() string {
	parts := make([]string, len(v))
	for i, n := range v {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ".")
}

// plainVersion returns a well-formed version or build, and "unknown" for any other text. A server can return any text, and a report contains it.
func plainVersion(s string) string {
	if v, err := parseVersion(s); err == nil && len(s) <= 32 {
		return v.String()
	}
	return "unknown"
}
