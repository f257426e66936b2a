package command

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/codeconnect/vmgroup-operator/internal/controller/vcenter"
)

var (
	errNoCredentials = errors.New("set the environment variables VC_USER and VC_PASS, or name a file with --credentials that has a line username=… and a line password=…")
	errPlainHTTP     = errors.New("--server must use https; http is for simulators, with --insecure")
)

// serverFlags name a server that needs no VCenter on the hub, and settings like those of a VCenter.
type serverFlags struct {
	server, credentials, ca, thumbprint string
	insecure                            bool
	datacenter, folder                  string
	pool, datastore, network            string
	// used is true if one of these flags was given without --server.
	used bool
}

func (s *serverFlags) addServer(flags *pflag.FlagSet) {
	flags.StringVar(&s.server, "server", "", "URL of a vCenter, https://host[:port], that needs no VCenter on a hub.")
	for _, f := range []struct {
		value             *string
		name, use, preset string
	}{
		{&s.credentials, "credentials", "File with a line username=… and a line password=…, in place of $VC_USER and $VC_PASS.", ""},
		{&s.ca, "ca", "File with the authorities that may have signed the certificate; empty means those of the system.", ""},
		{&s.thumbprint, "thumbprint", "SHA-1 or SHA-256 of the only certificate that is accepted.", ""},
		{&s.datacenter, "datacenter", "As spec.datacenter of a VCenter.", ""},
		{&s.folder, "folder", "As spec.folder of a VCenter.", "vm-operator"},
		{&s.pool, "resource-pool", "As spec.resourcePool of a VCenter.", ""},
		{&s.datastore, "datastore", "As spec.datastore of a VCenter.", ""},
		{&s.network, "network", "As spec.network of a VCenter.", ""},
	} {
		flags.Var(&watched{f.value, &s.used}, f.name, "With --server: "+f.use)
		*f.value = f.preset
		flags.Lookup(f.name).DefValue = f.preset
	}
	flags.BoolVar(&s.insecure, "insecure", false, "With --server: check no certificate. Anybody on the network path can then read the password.")
}

// watched is a flag that records that it was set.
type watched struct {
	value *string
	used  *bool
}

// String implements pflag.Value.
func (w *watched) String() string { return *w.value }

// Set implements pflag.Value.
func (w *watched) Set(s string) error {
	*w.value, *w.used = s, true
	return nil
}

// Type implements pflag.Value.
func (*watched) Type() string { return "string" }

// serverConfig returns a configuration like that of a VCenter and its Secret. No flag takes a password: other users of the
// host could read it.
func (s *serverFlags) serverConfig() (vcenter.Config, error) {
	c := vcenter.Config{
		Name: "check", URL: s.server, Thumbprint: s.thumbprint, Insecure: s.insecure, Datacenter: s.datacenter, Folder: cmp.Or(s.folder, "vm-operator"),
		ResourcePool: s.pool, Datastore: s.datastore, Network: s.network,
	}
	if strings.HasPrefix(strings.ToLower(c.URL), "http://") && !s.insecure {
		return c, errPlainHTTP
	}
	if !strings.Contains(c.URL, "://") {
		c.URL = "https://" + c.URL
	}
	if s.ca != "" {
		bundle, err := os.ReadFile(s.ca)
		if err != nil {
			return c, fmt.Errorf("read the authorities: %w", err)
		}
		c.CABundle = string(bundle)
	}
	c.Username, c.Password = os.Getenv("VC_USER"), os.Getenv("VC_PASS")
	if s.credentials != "" {
		content, err := os.ReadFile(s.credentials)
		if err != nil {
			return c, fmt.Errorf("read user name and password: %w", err)
		}
		c.Username, c.Password = credentialsIn(string(content))
	}
	if c.Username == "" || c.Password == "" {
		return c, errNoCredentials
	}
	return c, nil
}

// credentialsIn reads lines of the form key=value, with the keys of a Secret.
func credentialsIn(content string) (username, password string) {
	for line := range strings.Lines(content) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		switch strings.TrimSpace(key) {
		case "username", "VC_USER":
			username = value
		case "password", "VC_PASS":
			password = value
		}
	}
	return username, password
}
