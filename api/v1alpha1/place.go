package v1alpha1

import (
	"cmp"
	"net/url"
	"strings"
)

// Place is where a VCenter keeps its VMs. If two VCenters have the same place, each reports the other's VMs
// as orphans.
//
// +kubebuilder:object:generate=false
type Place struct {
	// Host with its port, in lower case. It is empty if spec.server is empty or not a URL.
	Host string
	// Datacenter and Folder as in spec.
	Datacenter, Folder string
}

// Place returns the place that spec names.
func (s *VCenterSpec) Place() Place {
	p := Place{Datacenter: s.Datacenter, Folder: cmp.Or(strings.Trim(s.Folder, "/"), "vm-operator")}
	server := s.Server
	if server == "" {
		return p
	}
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	if u, err := url.Parse(server); err == nil {
		p.Host = strings.ToLower(u.Hostname()) + ":" + cmp.Or(u.Port(), "443")
	}
	return p
}
