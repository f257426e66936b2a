package govmomi

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/logins"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
)

// SurveyOptions configures a survey.
type SurveyOptions struct {
	// Config is the configuration of a Server, whose settings are checked. If Session.Gate allows only one login, at most
	// one is sent.
	Config
	// Templates are names or paths. If it is empty, all templates that the settings allow are checked.
	Templates []string
	// Dialer opens the connection whose certificate is checked. Nil skips the check.
	Dialer session.Dialer
	// Settle is the time from the login to a second count of sessions. Zero skips it.
	Settle time.Duration
	// Probe creates one VM and removes it within ProbeTime.
	Probe     bool
	ProbeTime time.Duration
}

// partTime limits one part of a survey, so that a vCenter that hangs in one part does not hide the others.
const partTime = time.Minute

// surveyor examines one vCenter.
type surveyor struct {
	o     SurveyOptions
	facts *survey.Facts
	// server holds the settings and never runs. It finds names and specifies clones like the operator.
	server *Server
	conn   *connection
	// home is the root folder, or the folder in which it will be created.
	home vsphere.Ref
	// above are the existing folders on the way to the root folder, and the root folder.
	above []vsphere.Folder
	// skew is the lead of vCenter's clock over this host's.
	skew time.Duration
	// read are the examined templates.
	read []templateEntry
}

// Survey examines a vCenter with one login. It changes nothing unless the options request a probe.
func Survey(ctx context.Context, o SurveyOptions) *survey.Facts {
	s := &surveyor{o: o, facts: &survey.Facts{}, server: New(o.Config)}
	s.o.Config = s.server.cfg
	s.facts.Began = s.o.Now()
	if !s.reach(ctx) {
		return s.facts
	}
	sess, ok := s.login(ctx)
	if sess != nil {
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoutTimeout)
			defer cancel()
			_ = sess.Close(ctx)
		}()
	}
	if !ok {
		return s.facts
	}
	loggedIn := s.o.Now()
	read := func(part func(context.Context)) {
		ctx, cancel := context.WithTimeout(ctx, partTime)
		defer cancel()
		part(ctx)
	}
	read(func(ctx context.Context) { s.count(ctx, sess) })
	read(s.readClock)
	found := false
	read(func(ctx context.Context) { found = s.findPlaces(ctx) })
	if found {
		read(s.readTemplates)
		read(s.readRights)
		read(s.readLists)
		s.sweep(ctx)
	}
	if found && s.o.Probe {
		s.probe(ctx)
	}
	if s.o.Settle > 0 && sleep(ctx, s.o.Settle-s.o.Now().Sub(loggedIn)) {
		s.count(ctx, sess)
		s.sweep(ctx)
	}
	return s.facts
}

// reach examines the server without a login.
func (s *surveyor) reach(ctx context.Context) bool {
	f, cfg := &s.facts.Server, s.o.Session
	f.Host, f.PlainHTTP, f.Local = address(cfg.URL)
	if s.o.Dialer != nil {
		shown, err := session.LookAtCertificate(ctx, cfg, s.o.Dialer)
		switch {
		case vsphere.KindOf(err) == vsphere.KindSpec:
			f.Untrusted = problemOf(err)
			return false
		case shown != nil:
			f.Certificate = certificateOf(shown, cfg.TLS)
			f.Untrusted = problemOf(shown.Refused)
		}
		if f.Untrusted != nil {
			f.Untrusted.Kind = vsphere.KindCertificate
			return false
		}
	}
	versioned, err := session.Ask(ctx, cfg, session.VersionedAction)
	switch {
	case vsphere.KindOf(err) == vsphere.KindCertificate:
		f.Untrusted = problemOf(err)
		return false
	case err != nil:
		f.Unreachable = problemOf(err)
		return false
	}
	f.Versioned, f.OutOfSessions = answerOf(versioned), versioned.Full
	if f.Versions, f.VersionsFile, err = session.Versions(ctx, cfg); err != nil {
		f.Unreachable = problemOf(err)
		return false
	}
	if f.Versioned == survey.Failed {
		if !f.OutOfSessions {
			f.Unreachable = &survey.Problem{Kind: vsphere.KindTransient, Text: "the web server answers, and vCenter's API behind it does not"}
		}
		return false
	}
	if unversioned, err := session.Ask(ctx, cfg, session.UnversionedAction); err == nil {
		f.Unversioned = answerOf(unversioned)
	}
	return f.Versioned == survey.Accepted
}

func answerOf(t session.Treatment) survey.Answer {
	switch {
	case t.Accepted():
		return survey.Accepted
	case t.Fault:
		return survey.Refused
	}
	return survey.Failed
}

// address returns the host of a URL, whether passwords are sent unencrypted, and whether the host is the local one.
func address(url string) (host string, plain, local bool) {
	plain = strings.HasPrefix(url, "http://")
	_, host, found := strings.Cut(url, "://")
	if !found {
		host = url
	}
	host, _, _ = strings.Cut(host, "/")
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	local = strings.EqualFold(name, "localhost") || net.ParseIP(strings.Trim(name, "[]")).IsLoopback()
	return host, plain, local
}

func certificateOf(shown *session.Shown, trust session.TLS) *survey.Certificate {
	leaf := shown.Chain[0]
	c := &survey.Certificate{
		Subject: leaf.Subject.String(), Issuer: leaf.Issuer.String(), Names: leaf.DNSNames, NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter,
		SHA256: shown.SHA256, TLSVersion: shown.TLSVersion, SelfSigned: string(leaf.RawIssuer) == string(leaf.RawSubject), Chain: len(shown.Chain),
		Pinned: trust.Thumbprint != "", Unchecked: trust.Insecure,
	}
	for _, ip := range leaf.IPAddresses {
		c.Names = append(c.Names, ip.String())
	}
	return c
}

// login logs in once. If it returns a session, the caller must close it.
func (s *surveyor) login(ctx context.Context) (*session.Session, bool) {
	f := &survey.Login{}
	sess, err := session.Dial(ctx, s.o.Session)
	if err != nil {
		s.facts.Server.Unreachable = problemOf(err)
		return nil, false
	}
	about := sess.Client().ServiceContent.About
	s.facts.Server.About = &survey.About{
		Name: about.Name, Version: about.Version, Build: about.Build, APIVersion: about.ApiVersion, InstanceUUID: about.InstanceUuid, VCenter: sess.Client().IsVC(),
	}
	if !sess.Client().IsVC() {
		return sess, false
	}
	s.facts.Login = f
	if err := sess.Login(ctx); err != nil {
		f.Problem = problemOf(err)
		var refused *logins.Refused
		f.Held = errors.As(err, &refused) && refused.Last.Before(s.facts.Began)
		return sess, false
	}
	f.User = sess.User()
	s.conn = &connection{session: sess, client: sess.Client()}
	return sess, true
}

func (s *surveyor) readClock(ctx context.Context) {
	sent := s.o.Now()
	resp, err := methods.CurrentTime(ctx, s.conn.client, &types.CurrentTime{This: types.ManagedObjectReference{Type: "ServiceInstance", Value: "ServiceInstance"}})
	if err != nil {
		return
	}
	back := s.o.Now()
	s.skew = resp.Returnval.Sub(sent.Add(back.Sub(sent) / 2))
	s.facts.Login.Skew, s.facts.Login.ClockRead = s.skew, true
}

// vcenterNow returns the time by vCenter's clock.
func (s *surveyor) vcenterNow() time.Time { return s.o.Now().Add(s.skew) }

func (s *surveyor) count(ctx context.Context, sess *session.Session) {
	c, err := sess.Census(ctx)
	s.facts.Sessions = append(s.facts.Sessions, survey.Sessions{
		At: s.o.Now(), Hidden: c.Hidden, All: c.All, Account: c.Account, Unnamed: c.Unnamed, Own: c.Own, Whole: c.Whole, Problem: problemOf(err),
	})
}

// problemOf describes an error, or returns nil for none.
func problemOf(err error) *survey.Problem {
	if err == nil {
		return nil
	}
	err = translate("", err)
	p := &survey.Problem{Kind: vsphere.KindOf(err), Text: strings.TrimPrefix(err.Error(), ": ")}
	var e *vsphere.Error
	if errors.As(err, &e) {
		p.Privilege = e.Privilege
		if !e.Object.IsZero() {
			p.Object = e.Object.String()
		}
	}
	var f types.BaseMethodFault
	if _, found := fault.As(err, &f); found {
		p.Fault = nameOf(f)
	}
	return p
}
