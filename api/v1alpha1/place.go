package v1alpha1

import (
	"cmp"
	"net/url"
	"strings"
)

// Place is where a VCenter keeps its VMs. Two VCenters of one place report each other's VMs as orphans.
//
// +kubebuilder:object:generate=false
type Place struct {
	// Host with its port, in lower case; empty where spec.server is empty or no URL.
	Host string
	// Datacenter and Folder as spec has them.
	Datacenter, Folder string
}

// Place returns where the VMs are, as far as spec says.
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
